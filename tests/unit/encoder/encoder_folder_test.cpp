// The folder of an encoder, accepted and refused (docs/validation.md, E1 to E5).
#include "engine/encoder/encoder_folder.h"

#include <cstring>
#include <set>

#include "tests/support/catch.h"
#include "tests/unit/encoder/encoder_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;
using nlohmann::json;

namespace {

void check(const EncoderCopy& copy, const char* file, const std::string& sentence)
{
    CHECK(copy.refusal().message == (copy.path() / file).string() + ": " + sentence);
}

void check_config(const std::function<void(json&)>& change, const std::string& sentence)
{
    const EncoderCopy copy;
    copy.edit("config.json", change);
    check(copy, "config.json", sentence);
}

void check_tensors(const std::function<void(SafetensorsEntries&)>& change, const std::string& sentence)
{
    const EncoderCopy copy;
    copy.edit_tensors(change);
    check(copy, "model.safetensors", sentence);
}

constexpr const char* query = "encoder.layer.1.attention.self.query.weight";

// Opens the folder with every `stride`-th byte of a file's first `bytes` changed, and with the file cut there: each
// time it opens and encodes a text, or is refused with a code about models.
void sweep(const char* name, size_t bytes, size_t stride)
{
    const EncoderCopy copy;
    const std::string whole = copy.text(name);
    const auto check_outcome = [&](const std::string& content) {
        copy.write(name, content);
        const Refused outcome = refused([&] {
            const EncoderFolder folder = open_encoder_folder(copy.path());
            for (const TokenId id : WordPiece(folder.vocabulary).encode("the lamp \xC3\xA9 [SEP] stairs", 48))
                if (id < 0 || id >= folder.config.vocabulary)
                    throw std::runtime_error("an id beyond the embedding");
        });
        if (!outcome.code.empty() && !outcome.code.starts_with("PAL-MODEL-")) FAIL_CHECK(outcome.message);
    };
    for (size_t at = 0; at < std::min(bytes, whole.size()); at += stride) {
        std::string damaged = whole;
        for (const int flip : {0x01, 0x20, 0x80}) {
            damaged[at] = static_cast<char>(whole[at] ^ flip);
            check_outcome(damaged);
        }
        check_outcome(whole.substr(0, at));
    }
}

} // namespace

TEST_CASE("a folder of an encoder opens")
{
    const EncoderFolder folder = open_encoder_folder(encoder_fixture());
    CHECK(folder.config.width == 32);
    CHECK(folder.config.layers == 2);
    CHECK(folder.config.head_dim() == 8);
    CHECK(folder.max_tokens == 48);
    CHECK(folder.identity.size() == 32);
}

TEST_CASE("the longest text is that of sentence_bert_config.json, or as many tokens as there are positions")
{
    const EncoderCopy copy;
    copy.edit("sentence_bert_config.json", [](json& j) { j["max_seq_length"] = 20; });
    CHECK(open_encoder_folder(copy.path()).max_tokens == 20);
    copy.edit("sentence_bert_config.json", [](json& j) { j["max_seq_length"] = 500; });
    CHECK(open_encoder_folder(copy.path()).max_tokens == 64);
    copy.remove("sentence_bert_config.json");
    CHECK(open_encoder_folder(copy.path()).max_tokens == 64);
}

TEST_CASE("the identity changes with every file that matters")
{
    std::set<std::string> identities;
    const auto add = [&](const std::function<void(const EncoderCopy&)>& change) {
        const EncoderCopy copy;
        change(copy);
        CHECK(identities.insert(open_encoder_folder(copy.path()).identity).second);
    };
    add([](const EncoderCopy&) {});
    add([](const EncoderCopy& copy) { copy.edit("config.json", [](json& j) { j["layer_norm_eps"] = 1e-6; }); });
    add([](const EncoderCopy& copy) { copy.edit("tokenizer.json", [](json& j) { j["version"] = "2"; }); });
    add([](const EncoderCopy& copy) { copy.remove("sentence_bert_config.json"); });
    add([](const EncoderCopy& copy) {
        copy.edit_tensors([](SafetensorsEntries& entries) { entries[query].data[0] ^= std::byte{1}; });
    });
    CHECK(identities.contains(open_encoder_folder(encoder_fixture()).identity));
}

TEST_CASE("a missing file of an encoder is named")
{
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) {
        const EncoderCopy copy;
        copy.remove(name);
        const Refused refusal = copy.refusal();
        CHECK(refusal.says((copy.path() / name).string() + ": there is no such file; check the path"));
    }
    const EncoderCopy copy;
    copy.remove("config.json");
    std::filesystem::create_symlink("/etc/hostname", copy.path() / "config.json");
    check(copy, "config.json",
          "it is a link to a file outside of the model's folder; copy the file there [PAL-MODEL-S8]");
}

TEST_CASE("a configuration that is not a supported BERT is refused")
{
    check_config([](json& j) { j["model_type"] = "roberta"; },
                 "a sentence encoder of type 'roberta' is not supported; use one of type 'bert', such as "
                 "all-MiniLM-L6-v2 [PAL-MODEL-C2]");
    check_config([](json& j) { j.erase("model_type"); },
                 "'model_type' is missing; download it again or compare its checksum [PAL-MODEL-C2]");
    check_config([](json& j) { j["hidden_act"] = "gelu_new"; },
                 "activation 'gelu_new' is not supported; use another model [PAL-MODEL-C6]");
    check_config([](json& j) { j["position_embedding_type"] = "relative_key"; },
                 "position embeddings of type 'relative_key' are not supported; use another model [PAL-MODEL-C6]");
    check_config([](json& j) { j["is_decoder"] = true; },
                 "'is_decoder' is not supported; use another model [PAL-MODEL-C6]");
    check_config([](json& j) { j["quantization_config"] = json::object(); },
                 "'quantization_config' is not supported; use another model [PAL-MODEL-C6]");
    check_config([](json& j) { j["num_attention_heads"] = 5; },
                 "the embedding of 32 does not divide into 5 heads; use another model [PAL-MODEL-C4]");
    check_config([](json& j) { j["num_hidden_layers"] = 0; },
                 "'num_hidden_layers' is 0, expected 1 to 1024; use another model [PAL-MODEL-C3]");
    check_config([](json& j) { j["max_position_embeddings"] = 2; },
                 "'max_position_embeddings' is 2, expected 3 to 16777216; use another model [PAL-MODEL-C3]");
    check_config([](json& j) { j["hidden_size"] = "32"; },
                 "'hidden_size' is not an integer of 0 or more; download it again or compare its checksum "
                 "[PAL-MODEL-C3]");
    check_config([](json& j) { j["layer_norm_eps"] = 0; },
                 "the norm epsilon is 0, expected a number in (0, 0.1]; "
                 "download it again or compare its checksum [PAL-MODEL-C5]");
}

TEST_CASE("settings of sentence-transformers that are not supported are refused")
{
    EncoderCopy copy;
    copy.write("sentence_bert_config.json", R"({"max_seq_length": 2})");
    check(
        copy, "sentence_bert_config.json",
        "'max_seq_length' is 2, expected 3 to 16777216; download it again or compare its checksum [PAL-MODEL-C3]");
    copy.write("sentence_bert_config.json", R"({"do_lower_case": true})");
    CHECK(copy.refusal().message.empty()); // the tokenizer does it anyway
    copy.edit("tokenizer.json", [](json& j) { j["normalizer"]["lowercase"] = false; });
    check(copy, "sentence_bert_config.json", "'do_lower_case' is not supported; use another model [PAL-MODEL-C6]");

    const EncoderCopy pooled;
    std::filesystem::create_directory(pooled.path() / "1_Pooling");
    constexpr const char* name = "1_Pooling/config.json";
    pooled.write(name, R"({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true,
                           "pooling_mode_cls_token": false})");
    CHECK(pooled.refusal().message.empty());
    pooled.write(name, R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
    check(pooled, name, "'pooling_mode_cls_token' is not supported; use another model [PAL-MODEL-C6]");
    pooled.write(name, R"({"pooling_mode_mean_tokens": false})");
    check(pooled, name, "its pooling is not the mean of all tokens; use another model [PAL-MODEL-C6]");
}

TEST_CASE("tensors that the configuration does not describe are refused")
{
    check_tensors([](SafetensorsEntries& e) { e.erase(query); },
                  "tensor 'encoder.layer.1.attention.self.query.weight' is missing; download the complete model "
                  "[PAL-MODEL-S9]");
    check_tensors(
        [](SafetensorsEntries& e) {
            e[query].shape = {16, 64};
        },
        "tensor 'encoder.layer.1.attention.self.query.weight' is 16 x 64, the configuration requires 32 x "
        "32; download it again or compare its checksum [PAL-MODEL-S9]");
    check_tensors([](SafetensorsEntries& e) { e[query].dtype = "I32"; },
                  "tensor type 'I32' is not supported yet (tensor 'encoder.layer.1.attention.self.query.weight'); "
                  "use a model "
                  "whose tensors are F32, F16 or BF16 [PAL-MODEL-S3]");
    check_tensors(
        [](SafetensorsEntries& e) { e["encoder.layer.2.output.dense.bias"] = e["embeddings.LayerNorm.bias"]; },
        "tensor 'encoder.layer.2.output.dense.bias' belongs to no layer of the configuration; use another "
        "model [PAL-MODEL-S9]");
    const EncoderCopy copy;
    copy.edit_tensors([](SafetensorsEntries& e) { // what sentence embeddings do not use
        std::erase_if(e, [](const auto& entry) { return entry.first.starts_with("pooler."); });
        e.erase("embeddings.position_ids");
    });
    CHECK(copy.refusal().message.empty());
}

TEST_CASE("truncated weights are refused")
{
    const EncoderCopy copy;
    const std::string whole = copy.text("model.safetensors");
    copy.write("model.safetensors", whole.substr(0, whole.size() - 1));
    const Refused refusal = copy.refusal();
    CHECK(refusal.code == "PAL-MODEL-S5");
    CHECK(refusal.says("the file is truncated; download it again"));
    copy.write("model.safetensors", "");
    check(copy, "model.safetensors", "the file is empty; download it again or compare its checksum [PAL-MODEL-S1]");
}

TEST_CASE("any damaged byte of an encoder's files is refused or harmless")
{
    sweep("config.json", 1000, 5);
    sweep("sentence_bert_config.json", 1000, 5);
    sweep("tokenizer.json", 10000, 41);
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, EncoderCopy().text("model.safetensors").data(), sizeof header_bytes);
    sweep("model.safetensors", sizeof header_bytes + header_bytes, 47);
}
