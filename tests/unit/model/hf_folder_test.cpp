// docs/validation.md, S8, S9 and C7; tensors at odd addresses; folders on disk.

#include <filesystem>
#include <fstream>

#include "engine/model/files/hf_folder.h"
#include "engine/model/files/model_identity.h"
#include "engine/model/files/open_model.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/english.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/scratch_folder.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

namespace fs = std::filesystem;

void check(const Refused& refusal, const std::string& code, const std::string& part)
{
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

void check(const TinyFolder& folder, const std::string& code, const std::string& part)
{
    check(refused([&] { assemble_hf_model(folder.files()); }), code, part);
}

void check(const SafetensorsEntries& entries, const std::string& code, const std::string& part)
{
    TinyFolder folder;
    folder.weights["model.safetensors"] = safetensors(entries);
    check(folder, code, part);
}

// Two shards and their index: the embedding in one, all other tensors in the other.
TinyFolder sharded()
{
    TinyFolder folder;
    SafetensorsEntries first, second = tiny_safetensors();
    const std::string moved = "model.embed_tokens.weight";
    first[moved] = second[moved];
    second.erase(moved);
    std::string map;
    for (const auto& [name, entry] : tiny_safetensors())
        map += (map.empty() ? "\"" : ",\"") + name + "\":\"" + (name == moved ? "a.safetensors" : "b.safetensors") +
               "\"";
    folder.index = "{\"metadata\":{\"total_size\":1},\"weight_map\":{" + map + "}}";
    folder.weights = {{"a.safetensors", safetensors(first)}, {"b.safetensors", safetensors(second)}};
    return folder;
}

void write(const fs::path& path, std::string_view text)
{
    std::ofstream(path, std::ios::binary) << text;
}

void write_folder(const fs::path& folder, const TinyFolder& tiny)
{
    fs::create_directories(folder);
    write(folder / "config.json", tiny.config);
    if (!tiny.index.empty()) write(folder / "model.safetensors.index.json", tiny.index);
    for (const auto& [name, bytes] : tiny.weights)
        write(folder / name, bytes.text());
}

} // namespace

TEST_CASE("a Hugging Face folder opens as a model whose tensors have GGUF names")
{
    const auto model = assemble_hf_model(TinyFolder().files());
    CHECK(model.format == "safetensors");
    CHECK(model.tensors.size() == 12);
    CHECK(model.find("blk.0.attn_k.weight")->rows == 16);
    CHECK(model.find("blk.0.attn_k.weight")->cols == 32);
    CHECK(model.find("output.weight")->rows == 20);
    CHECK(model.fingerprint.size() == 32);
    CHECK(model.parameters == 2 * 20 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 32 * 32 + 3 * 32);
    touch(model);
    const auto split = assemble_hf_model(sharded().files());
    CHECK(touch(split) == touch(model));
    CHECK(split.fingerprint != model.fingerprint);
}

TEST_CASE("tensors at odd addresses are copied and have the same values")
{
    TinyFolder folder;
    const double expected = touch(assemble_hf_model(folder.files()));
    const Bytes aligned = safetensors(tiny_safetensors());
    for (const int shift : {1, 2, 3}) {
        auto length = *reinterpret_cast<const uint64_t*>(aligned.get().data());
        std::string header(aligned.text().substr(8, length));
        header += std::string(static_cast<size_t>(shift), ' ');
        folder.weights["model.safetensors"] =
            safetensors_with_header(header, Bytes(aligned.text().substr(8 + length)));
        const auto model = assemble_hf_model(folder.files());
        CHECK(touch(model) == expected);
        for (const auto& [name, tensor] : model.tensors)
            CHECK(reinterpret_cast<uintptr_t>(tensor.data) % 4 == 0);
    }
}

TEST_CASE("S8 checks the shard index")
{
    CHECK(assemble_hf_model(sharded().files()).tensors.size() == 12);
    auto folder = sharded();
    folder.index = "{}";
    check(folder, "S8", "it has no 'weight_map'");
    folder.index = "{\"weight_map\":[]}";
    check(folder, "S8", "it has no 'weight_map'");
    for (const char* name :
         {"../a.safetensors", "/etc/passwd", "a.bin", ".safetensors", "a b.safetensors", "a/b.safetensors"}) {
        folder.index = "{\"weight_map\":{\"t\":\"" + std::string(name) + "\"}}";
        check(folder, "S8", "is not a plain file name that ends in .safetensors");
    }
    folder.index = "{\"weight_map\":{\"t\":7}}";
    check(folder, "S8", "is not a plain file name");
    folder.index = "{\"weight_map\":{\"absent\":\"a.safetensors\"}}";
    check(folder, "S8", "tensor 'absent' is not in 'a.safetensors'");
    folder.index = "{\"weight_map\":{\"model.embed_tokens.weight\":\"b.safetensors\"}}";
    check(folder, "S8", "tensor 'model.embed_tokens.weight' is not in 'b.safetensors'");
    folder = sharded();
    folder.weights["b.safetensors"] = safetensors(tiny_safetensors());
    check(folder, "S8", "tensor 'model.embed_tokens.weight' is in another shard as well");

    folder = sharded();
    std::string many;
    for (int i = 0; i < 1025; ++i)
        many += (many.empty() ? "\"" : ",\"") + std::to_string(i) + "\":\"" + std::to_string(i) + ".safetensors\"";
    folder.index = "{\"weight_map\":{" + many + "}}";
    check(folder, "S8", "1025 tensors in 1025 shards");

    auto entries = tiny_safetensors();
    entries["token_embd.weight"] = entries["model.embed_tokens.weight"];
    check(entries, "S8", "comes under two names");
}

TEST_CASE("S9 requires every tensor, in its shape and in a supported type")
{
    for (const auto& [name, entry] : tiny_safetensors()) {
        auto entries = tiny_safetensors();
        entries.erase(name);
        check(entries, "S9", "is missing");
    }
    auto entries = tiny_safetensors();
    entries["lm_head.weight"].shape = {32, 20};
    check(entries, "S9", "tensor 'lm_head.weight' is 32 x 20, the configuration requires 20 x 32");
    entries = tiny_safetensors();
    entries["model.norm.weight"].shape = {};
    entries["model.norm.weight"].data.cut_to(4);
    check(entries, "S9", "tensor 'model.norm.weight' is a single number");
    entries = tiny_safetensors();
    entries["lm_head.weight"].dtype = "I32";
    check(entries, "S3", "tensor type 'I32' is not supported yet (tensor 'lm_head.weight')");
    for (const char* name : {"model.layers.0.self_attn.o_proj.bias", "model.layers.0.self_attn.q_norm.weight"}) {
        entries = tiny_safetensors();
        entries[name] = {"F32", {32}, Bytes().pad_to(128)};
        check(entries, "S9", "belongs to a kind of layer that is not supported");
    }
}

TEST_CASE("unknown tensors give a warning, tensors that can be derived do not")
{
    auto entries = tiny_safetensors();
    entries["model.layers.0.self_attn.rotary_emb.inv_freq"] = {"F32", {4}, Bytes().pad_to(16)};
    entries["model.layers.0.odd"] = {"I64", {1}, Bytes().pad_to(8)};
    entries["model.layers.odd"] = {"I64", {1}, Bytes().pad_to(8)};
    TinyFolder folder;
    folder.weights["model.safetensors"] = safetensors(entries);
    CHECK(english(assemble_hf_model(folder.files()).warnings) ==
          std::vector<std::string>{
              "tensor 'model.layers.0.odd' is not used", "tensor 'model.layers.odd' is not used",
              "the folder has neither tokenizer.json nor tokenizer.model: only token ids can be given"});
    folder.config.replace(folder.config.find("\"tie_word_embeddings\": false"), 28,
                          "\"tie_word_embeddings\": true ");
    CHECK(assemble_hf_model(folder.files()).config.tied_embeddings);
    CHECK(assemble_hf_model(folder.files()).find("output.weight") == nullptr);
}

TEST_CASE("C7 refuses a configuration larger than the weights")
{
    TinyFolder folder;
    folder.config.replace(folder.config.find("\"num_hidden_layers\": 1"), 22, "\"num_hidden_layers\": 1000");
    check(folder, "C7", "bytes of weights but the files have");
}

TEST_CASE("models are opened from folders on disk, and incomplete folders are refused")
{
    const ScratchFolder scratch;
    const fs::path folder = scratch.path() / "model";
    check(refused([&] { open_model(folder); }), "01", "there is no such file");
    fs::create_directories(folder);
    check(refused([&] { open_model(folder); }), "C1", "config.json: there is no such file");
    write(folder / "config.json", tiny_config_json());
    check(refused([&] { open_model(folder); }), "S8", "neither model.safetensors nor model.safetensors.index.json");
    write(folder / "pytorch_model.bin", "x");
    check(refused([&] { open_model(folder); }), "S8", "a pytorch_model.bin, which can run code");

    write_folder(folder, sharded());
    auto model = open_model(folder);
    CHECK(model.mappings.size() == 4);
    CHECK(model.path == folder);
    CHECK(model.config.name == "model");
    CHECK(full_hash(model).size() == 32);
    const std::string first = full_hash(model);
    fs::remove(folder / "b.safetensors");
    check(refused([&] { open_model(folder); }), "S8", "b.safetensors: there is no such file");

    write_folder(folder, TinyFolder()); // model.safetensors takes precedence over an index
    write(folder / "tokenizer.json", R"({"model": {"type": "WordPiece"}})");
    model = open_model(folder);
    CHECK(model.mappings.size() == 3);
    CHECK(full_hash(model) != first);
    REQUIRE(model.warnings.size() == 1);
    CHECK_THAT(model.warnings[0].english(), Catch::Contains("'WordPiece'"));
    write(folder / "tokenizer.json", "{}");
    check(refused([&] { open_model(folder); }), "T1", "it has no 'model'");
}

TEST_CASE("S8: links may not lead out of the folder, except into the store of the Hugging Face cache")
{
    const ScratchFolder scratch;
    const fs::path outside = scratch.path() / "outside", folder = scratch.path() / "model";
    write_folder(outside, TinyFolder());
    fs::create_directories(folder);
    fs::copy_file(outside / "config.json", folder / "config.json");
    fs::create_symlink(outside / "model.safetensors", folder / "model.safetensors");
    check(refused([&] { open_model(folder); }), "S8", "a link to a file outside of the model's folder");
    fs::remove(folder / "model.safetensors");
    fs::create_symlink("nowhere", folder / "model.safetensors");
    check(refused([&] { open_model(folder); }), "S1", "there is no such file");
    fs::remove(folder / "model.safetensors");
    fs::copy_file(outside / "model.safetensors", folder / "real.safetensors");
    fs::create_symlink("real.safetensors", folder / "model.safetensors");
    CHECK(open_model(folder).tensors.size() == 12);

    const fs::path cache = scratch.path() / "models--maker--some--name", snapshot = cache / "snapshots" / "abc";
    fs::create_directories(snapshot);
    fs::create_directories(cache / "blobs");
    for (const char* name : {"config.json", "model.safetensors"}) {
        fs::copy_file(outside / name, cache / "blobs" / name);
        fs::create_symlink(cache / "blobs" / name, snapshot / name);
    }
    const ModelFiles model = open_model(snapshot);
    CHECK(model.tensors.size() == 12);
    CHECK(model.config.name == "maker/some--name");
}
