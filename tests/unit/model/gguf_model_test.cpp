// docs/validation.md, G12 to G14 and G16: configuration, tokenizer, tensors and fingerprint of a GGUF model.

#include <cmath>
#include <limits>

#include "engine/model/files/gguf_model.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

ModelFiles load(const GgufBuilder& builder)
{
    return open_gguf(in_memory(builder.build(), "tiny.gguf"));
}

void check(const GgufBuilder& builder, const std::string& code, const std::string& part)
{
    const Refused refusal = refused([&] { load(builder); });
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

// The tiny model with architecture qwen2: the same numbers under other keys, and biases.
GgufBuilder tiny_qwen2()
{
    auto b = tiny_gguf();
    b.set_string("general.architecture", "qwen2");
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, uint32_t>>{{"block_count", 1},
                                                       {"context_length", 128},
                                                       {"embedding_length", tiny_dim},
                                                       {"feed_forward_length", tiny_ffn},
                                                       {"attention.head_count", tiny_heads},
                                                       {"attention.head_count_kv", tiny_kv_heads}})
        b.set_u32("qwen2." + key, value);
    b.set_f32("qwen2.attention.layer_norm_rms_epsilon", 1e-6f);
    for (const auto& [name, rows] : std::vector<std::pair<std::string, uint64_t>>{{"q", 32}, {"k", 16}, {"v", 16}})
        b.tensors.push_back({"blk.0.attn_" + name + ".bias", {rows}, 0, Bytes().pad_to(rows * 4), std::nullopt});
    return b;
}

} // namespace

TEST_CASE("all values of a GGUF configuration are read")
{
    const auto model = load(tiny_gguf());
    const ModelConfig& c = model.config;
    CHECK(c.architecture == "llama");
    CHECK(c.name == "tiny");
    CHECK(c.layers == 1);
    CHECK(c.dim == 32);
    CHECK(c.heads == 4);
    CHECK(c.kv_heads == 2);
    CHECK(c.head_dim == 8);
    CHECK(c.rotary_dim == 8);
    CHECK(c.ffn == 32);
    CHECK(c.vocabulary == 270);
    CHECK(c.context == 128);
    CHECK(c.rms_epsilon == 1e-5f);
    CHECK(c.rope.base == 10000.0f);
    CHECK(c.rope.factors.empty());
    CHECK_FALSE(c.tied_embeddings);
    CHECK_FALSE(c.qkv_bias);
    CHECK(c.paired_rotary);
    CHECK(c.stored_type == kernels::DType::F32);
    CHECK(model.find("blk.0.attn_k.weight")->rows == 16);
    CHECK(model.find("blk.0.attn_k.weight")->cols == 32);
    CHECK(model.find("blk.1.attn_k.weight") == nullptr);
    CHECK(model.vocabulary.bos == 1);
    CHECK(model.vocabulary.eos == 2);
    CHECK(model.vocabulary.unknown == 0);
    CHECK(model.vocabulary.add_bos);
    CHECK(model.vocabulary.add_space_prefix);
    CHECK(model.vocabulary.chat_template == "{{ messages }}");
    CHECK(model.vocabulary.pieces.size() == 270);
}

TEST_CASE("absent optional metadata get the defaults of the format")
{
    auto b = tiny_gguf();
    for (const char* key : {"llama.attention.head_count_kv", "llama.rope.freq_base", "llama.rope.dimension_count",
                            "llama.vocab_size", "general.name"})
        b.remove(key);
    b.tensor("blk.0.attn_k.weight").dims = b.tensor("blk.0.attn_v.weight").dims = {32, 32};
    b.tensor("blk.0.attn_k.weight").data = b.tensor("blk.0.attn_v.weight").data =
        b.tensor("blk.0.attn_q.weight").data;
    b.remove_tensor("output.weight");
    b.set_bool("tokenizer.ggml.add_space_prefix", 0);
    b.set_bool("tokenizer.ggml.add_bos_token", 0);
    b.set_string("palimpsest.normalizer", "books-1");
    b.set_u32("tokenizer.ggml.eot_token_id", 5);
    const auto model = load(b);
    CHECK(model.config.kv_heads == 4);
    CHECK(model.config.rope.base == 10000.0f);
    CHECK(model.config.tied_embeddings);
    CHECK_FALSE(model.vocabulary.add_space_prefix);
    CHECK_FALSE(model.vocabulary.add_bos);
    CHECK(model.vocabulary.normalizer == "books-1");
    CHECK(model.vocabulary.eot == 5);
}

TEST_CASE("qwen2 has biases and half-split rows")
{
    auto b = tiny_qwen2();
    const auto model = load(b);
    CHECK(model.config.architecture == "qwen2");
    CHECK(model.config.qkv_bias);
    CHECK_FALSE(model.config.paired_rotary);
    CHECK(model.find("blk.0.attn_q.bias")->cols == 32);
    CHECK(model.find("blk.0.attn_q.bias")->rows == 1);
    b.remove_tensor("blk.0.attn_v.bias");
    check(b, "14", "'blk.0.attn_v.bias' is missing");
}

TEST_CASE("G12 refuses hyper-parameters outside of their ranges")
{
    auto b = tiny_gguf();
    b.remove("general.architecture");
    check(b, "12", "'general.architecture' is missing");
    b.set_string("general.architecture", "gemma\x1b[2J");
    check(b, "12", "architecture 'gemma\\x1b[2J' is not supported");

    const auto with = [](const std::string& key, uint32_t value) {
        auto builder = tiny_gguf();
        builder.set_u32("llama." + key, value);
        return builder;
    };
    check(with("block_count", 0), "12", "'llama.block_count' is 0, expected 1 to 1024");
    check(with("block_count", 4294967295u), "12", "'llama.block_count' is 4294967295");
    check(with("embedding_length", 0), "12", "'llama.embedding_length' is 0");
    check(with("feed_forward_length", 0), "12", "'llama.feed_forward_length' is 0");
    check(with("attention.head_count", 0), "12", "'llama.attention.head_count' is 0");
    check(with("attention.head_count", 5), "12", "the embedding of 32 does not divide into 5 heads");
    check(with("attention.head_count_kv", 0), "12", "'llama.attention.head_count_kv' is 0");
    check(with("attention.head_count_kv", 3), "12", "4 query heads do not divide among 3 key-value heads");
    check(with("attention.key_length", 2000), "12", "'llama.attention.key_length' is 2000");
    check(with("attention.value_length", 16), "12", "keys have 8 numbers and values 16");
    check(with("rope.dimension_count", 7), "12", "the rotary size is 7");
    check(with("rope.dimension_count", 10), "12", "the rotary size is 10");
    check(with("context_length", 0), "12", "'llama.context_length' is 0");
    check(with("vocab_size", 271), "12", "'llama.vocab_size' is 271 but the embedding has 270 rows");
    check(with("expert_count", 8), "12", "'llama.expert_used_count' is 0, expected 1 to 8, the number of experts");
    check(with("expert_count", 1025), "12", "'llama.expert_count' is 1025, expected 1 to 1024");
    CHECK(load(with("context_length", 4294967295u)).config.context == 1 << 24);

    b = tiny_gguf();
    b.remove("llama.block_count");
    check(b, "12", "'llama.block_count' is missing");
    b = tiny_gguf();
    b.remove("llama.attention.layer_norm_rms_epsilon");
    check(b, "12", "'llama.attention.layer_norm_rms_epsilon' is missing");
}

TEST_CASE("G12 refuses floats that are not numbers in range")
{
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (const float epsilon : {0.0f, -1e-5f, 0.2f, nan, infinity}) {
        auto b = tiny_gguf();
        b.set_f32("llama.attention.layer_norm_rms_epsilon", epsilon);
        check(b, "12", "the norm epsilon is");
    }
    for (const float base : {0.5f, 2e12f, nan, -infinity}) {
        auto b = tiny_gguf();
        b.set_f32("llama.rope.freq_base", base);
        check(b, "12", "the rope base is");
    }
    auto published = tiny_gguf();
    published.set_f32("llama.rope.freq_base", 3580165449.0f);
    CHECK(load(published).config.rope.base == 3580165449.0f);
    for (const float factor : {0.0f, -1.0f, 2e6f, nan}) {
        auto b = tiny_gguf();
        b.set_string("llama.rope.scaling.type", "linear");
        b.set_f32("llama.rope.scaling.factor", factor);
        check(b, "12", "a rope scaling factor is");
    }
}

TEST_CASE("rope scalings of GGUF files are read, and unknown ones refused")
{
    auto b = tiny_gguf();
    b.set_string("llama.rope.scaling.type", "linear");
    check(b, "12", "'llama.rope.scaling.factor' is missing");
    b.set_f32("llama.rope.scaling.factor", 4.0f);
    CHECK(load(b).config.rope.factors == std::vector<float>(4, 4.0f));
    b.set_string("llama.rope.scaling.type", "none");
    CHECK(load(b).config.rope.factors.empty());
    b.set_string("llama.rope.scaling.type", "exotic");
    check(b, "12",
          "rope scaling 'exotic' is not supported; use a model with none, linear, yarn, longrope or llama3");

    b = tiny_gguf();
    b.set_f32("llama.rope.scaling.factor", 4.0f); // no type: linear
    CHECK(load(b).config.rope.factors == std::vector<float>(4, 4.0f));
    b.set_f32("llama.rope.scaling.factor", 1.0f); // changes nothing
    CHECK(load(b).config.rope.factors.empty());

    b = tiny_gguf();
    b.set_f32("llama.rope.scale_linear", 2.0f);
    CHECK(load(b).config.rope.factors == std::vector<float>(4, 2.0f));

    b = tiny_gguf();
    const Bytes factors = Bytes().number(1.0f).number(1.5f).number(3.0f).number(8.0f);
    b.tensors.push_back({"rope_freqs.weight", {4}, 0, factors, std::nullopt});
    CHECK(load(b).config.rope.factors == std::vector<float>{1.0f, 1.5f, 3.0f, 8.0f});
    CHECK(load(b).warnings.empty());
    b.set_f32("llama.rope.scale_linear", 2.0f);
    check(b, "12", "it has two rope scalings, one of them in tensor 'rope_freqs.weight'");
    b.remove("llama.rope.scale_linear");
    b.tensor("rope_freqs.weight").data = Bytes().number(1.0f).number(1.5f).number(0.0f).number(8.0f);
    check(b, "12", "a rope scaling factor is 0");
    b.tensor("rope_freqs.weight").dims = {2};
    check(b, "14", "'rope_freqs.weight' is not 4 numbers");
}

TEST_CASE("G13 checks the tokenizer's arrays")
{
    auto pieces = tiny_pieces(270);
    const auto with_pieces = [&] {
        auto b = tiny_gguf();
        b.set_strings("tokenizer.ggml.tokens", pieces);
        return b;
    };
    pieces.pop_back();
    check(with_pieces(), "13", "the vocabulary has 269 tokens but the embedding has 270 rows");
    pieces = tiny_pieces(270);
    pieces[265].clear();
    check(with_pieces(), "13", "piece 265 of the vocabulary has 0 bytes");
    pieces[265] = std::string(4097, 'x');
    check(with_pieces(), "13", "piece 265 of the vocabulary has 4097 bytes");
    pieces[265] = "\xFF";
    check(with_pieces(), "13", "'\\xff', is not valid UTF-8");
    pieces[265] = pieces[264];
    check(with_pieces(), "13", "pieces 264 and 265 of the vocabulary are both");
    pieces = tiny_pieces(270);
    for (const char* spelling : {"<0x0a>", "<0xZZ>", "<0x0AA>", "<0x0A", "x"}) {
        pieces[3 + 10] = spelling;
        check(with_pieces(), "13", "is marked as a byte but is not spelled like <0x0A>");
    }

    auto b = tiny_gguf();
    std::vector<float> scores(270, -1.0f);
    scores[7] = std::numeric_limits<float>::quiet_NaN();
    b.set_floats("tokenizer.ggml.scores", scores);
    check(b, "13", "the score of piece 7 is not a finite number");

    for (const int32_t type : {0, 7, -1}) {
        b = tiny_gguf();
        std::vector<int32_t> types(270, 1);
        types[9] = type;
        b.set_ints("tokenizer.ggml.token_type", types);
        check(b, "13", "the type of piece 9 is " + std::to_string(type));
    }

    b = tiny_gguf();
    b.set_u32("tokenizer.ggml.eos_token_id", 270);
    check(b, "13", "'tokenizer.ggml.eos_token_id' is 270 but the vocabulary has 270 tokens");
    b = tiny_gguf();
    b.set_string("tokenizer.chat_template", std::string((1 << 20) + 1, 'x'));
    check(b, "13", "'tokenizer.chat_template' has 1048577 bytes, the limit is 1048576");
}

TEST_CASE("a model with an unsupported tokenizer opens with a warning, for token ids only")
{
    auto b = tiny_gguf();
    b.set_string("tokenizer.ggml.model", "bert");
    auto model = load(b);
    CHECK(model.vocabulary.kind == Vocabulary::Kind::None);
    CHECK_FALSE(model.vocabulary.add_bos);
    REQUIRE(model.warnings.size() == 1);
    CHECK(model.warnings[0].english().find("'bert' are not supported") != std::string::npos);

    b.remove("tokenizer.ggml.model");
    model = load(b);
    CHECK(model.vocabulary.kind == Vocabulary::Kind::None);
    CHECK(model.warnings[0].english().find("has no tokenizer") != std::string::npos);
}

TEST_CASE("G14 requires every tensor, in its shape")
{
    for (const auto& tensor : tiny_gguf().tensors) {
        if (tensor.name == "output.weight") continue; // its absence means a tied model
        auto b = tiny_gguf();
        b.remove_tensor(tensor.name);
        check(b, "14", "tensor '" + tensor.name + "' is missing");
    }
    auto b = tiny_gguf();
    b.tensor("blk.0.attn_k.weight").dims = {16, 32};
    check(b, "14", "tensor 'blk.0.attn_k.weight' is 32 x 16, the configuration requires 16 x 32");
    b = tiny_gguf();
    b.tensor("output_norm.weight").dims = {32, 1};
    check(b, "14", "tensor 'output_norm.weight' is 1 x 32, the configuration requires 32");
}

TEST_CASE("G14 warns of unknown tensors and refuses those that change a layer")
{
    auto b = tiny_gguf();
    b.tensors.push_back({"notes", {2}, 0, Bytes().pad_to(8), std::nullopt});
    const auto model = load(b);
    REQUIRE(model.warnings.size() == 1);
    CHECK(model.warnings[0].english() == "tensor 'notes' is not used");
    b.tensors.back().name = "blk.0.attn_output.bias";
    check(b, "14", "tensor 'blk.0.attn_output.bias' belongs to a kind of layer that is not supported");
}

TEST_CASE("G16: the fingerprint changes with header, tensors and file size")
{
    auto b = tiny_gguf();
    const std::string first = load(b).fingerprint;
    CHECK(first.size() == 32);
    CHECK(load(b).fingerprint == first);
    b.set_string("general.name", "other");
    CHECK(load(b).fingerprint != first);
    b = tiny_gguf();
    b.tensor("blk.0.ffn_up.weight").data[0] ^= std::byte{1};
    CHECK(load(b).fingerprint != first);
    b = tiny_gguf();
    CHECK(open_gguf(in_memory(b.build().pad_to(b.build().size() + 1), "tiny.gguf")).fingerprint != first);
}
