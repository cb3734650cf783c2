// The configurations of the model families, read from both formats, and the files that they refuse.

#include <limits>

#include <nlohmann/json.hpp>

#include "engine/model/config/rope_factors.h"
#include "engine/model/families/family.h"
#include "engine/model/files/gguf_model.h"
#include "engine/model/files/hf_config.h"
#include "engine/model/forward/rope_angles.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;
using nlohmann::json;

namespace {

json config_of(const std::string& name)
{
    json root = json::parse(tiny_config_json());
    root["architectures"] = {name};
    return root;
}

ModelConfig parse(const json& root)
{
    return parse_hf_config(root.dump(), Refusal("config.json")).model;
}

void check_refused(const json& root, const std::string& code, const std::string& part)
{
    const Refused refusal = refused([&] { parse(root); });
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

ModelFiles load(const GgufBuilder& builder)
{
    return open_gguf(in_memory(builder.build(), "tiny.gguf"));
}

void check_refused(const GgufBuilder& builder, const std::string& code, const std::string& part)
{
    const Refused refusal = refused([&] { load(builder); });
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

} // namespace

TEST_CASE("an unknown architecture is refused with the list of supported ones")
{
    auto b = tiny_gguf();
    b.set_string("general.architecture", "rwkv6");
    check_refused(b, "12",
                  "'rwkv6' is not supported; use a model of architecture llama, qwen2, qwen3, qwen3moe, "
                  "gemma2, gemma3, phi3, olmo2 or granite");
    check_refused(config_of("RwkvForCausalLM"), "C2", "Gemma3ForConditionalGeneration");
}

TEST_CASE("a number that is given for every layer is accepted if all layers have the same")
{
    auto b = tiny_gguf();
    b.remove("llama.attention.head_count_kv");
    b.set_ints("llama.attention.head_count_kv", {2, 2});
    CHECK(load(b).config.kv_heads == 2);
    b.set_ints("llama.attention.head_count_kv", {2, 4});
    check_refused(b, "12", "'llama.attention.head_count_kv' differs between layers, which is not supported");
    b.set_ints("llama.attention.head_count_kv", {});
    check_refused(b, "11", "'llama.attention.head_count_kv' is empty");
    b.set_ints("llama.attention.head_count_kv", {-1});
    check_refused(b, "12", "'llama.attention.head_count_kv' is 4294967295");
    b.set_floats("llama.attention.head_count_kv", {2.0f});
    check_refused(b, "11", "has elements of type float32");
}

TEST_CASE("the number of experts must equal the number of their matrices")
{
    const auto with = [](uint32_t experts, uint32_t used, uint32_t in_tensors) {
        auto b = tiny_gguf();
        b.set_u32("llama.expert_count", experts);
        b.set_u32("llama.expert_used_count", used);
        b.tensors.push_back({"blk.0.ffn_gate_inp.weight", {32, experts}, 0, Bytes().pad_to(32 * experts * 4), {}});
        for (const char* part : {"gate", "up", "down"}) {
            const std::string name = "blk.0.ffn_" + std::string(part);
            b.remove_tensor(name + ".weight");
            b.tensors.push_back({name + "_exps.weight",
                                 {32, 32, in_tensors},
                                 0,
                                 Bytes().pad_to(32 * 32 * in_tensors * 4),
                                 std::nullopt});
        }
        return b;
    };
    const ModelFiles model = load(with(4, 2, 4));
    CHECK(model.config.experts.count == 4);
    CHECK(model.config.experts.used == 2);
    CHECK(model.config.experts.renormalise);
    REQUIRE(model.find("blk.0.ffn_up.3.weight"));
    CHECK(model.find("blk.0.ffn_up.3.weight")->data == model.find("blk.0.ffn_up.0.weight")->data + 3 * 32 * 32 * 4);
    CHECK_FALSE(model.find("blk.0.ffn_up.4.weight"));
    check_refused(with(4, 5, 4), "12", "'llama.expert_used_count' is 5, expected 1 to 4, the number of experts");
    check_refused(with(4, 0, 4), "12", "'llama.expert_used_count' is 0, expected 1 to 4, the number of experts");
    check_refused(with(4, 2, 3), "14", "tensor 'blk.0.ffn_gate_exps.weight' does not hold 4 experts");
}

TEST_CASE("LongRoPE uses the short or the long factors, depending on the largest position")
{
    json root = config_of("Phi3ForCausalLM");
    root["partial_rotary_factor"] = 0.5;
    root["original_max_position_embeddings"] = 32;
    root["rope_scaling"] = {{"type", "longrope"}, {"short_factor", {1.0, 1.5}}, {"long_factor", {2.0, 6.0}}};
    const ModelConfig c = parse(root);
    CHECK(c.rotary_dim == 4);
    CHECK(c.original_context == 32);
    CHECK(c.rope.attention_factor == Approx(std::sqrt(1 + std::log(4.0) / std::log(32.0))));
    CHECK(rope_factors_within(c, c.rope, 32) == std::vector<float>{1.0f, 1.5f});
    CHECK(rope_factors_within(c, c.rope, 33) == std::vector<float>{2.0f, 6.0f});
    CHECK(c.fused_qkv);
    json bad = root;
    bad["rope_scaling"]["long_factor"] = {2.0, 6.0, 7.0};
    check_refused(bad, "C5", "'long_factor' of rope scaling is not a list of 2 numbers");
    bad["rope_scaling"]["long_factor"] = {2.0, "6"};
    check_refused(bad, "C5", "'long_factor' of rope scaling is not a list of numbers");
    bad["rope_scaling"]["long_factor"] = {2.0, 0.0};
    check_refused(bad, "C5", "a rope scaling factor is 0");
    bad = root;
    bad["rope_scaling"]["attention_factor"] = -1.0;
    check_refused(bad, "C5", "the attention factor of rope scaling is -1");
    bad = root;
    bad["partial_rotary_factor"] = 1.5;
    check_refused(bad, "C5", "'partial_rotary_factor' is not a number in (0, 1]");

    auto b = tiny_gguf();
    const Bytes factors = Bytes().number(1.0f).number(1.5f).number(3.0f).number(8.0f);
    b.tensors.push_back({"rope_factors_short.weight", {4}, 0, factors, std::nullopt});
    check_refused(b, "14", "tensor 'rope_factors_long.weight' is missing");
    b.tensors.push_back({"rope_factors_long.weight", {4}, 0, factors, std::nullopt});
    CHECK(load(b).config.original_context == 128); // the model's context, unless the file names another
    b.set_u32("llama.rope.scaling.original_context_length", 64);
    CHECK(load(b).config.original_context == 64);
    CHECK(load(b).config.rope.long_factors.back() == 8.0f);
    b.set_f32("llama.rope.scaling.attn_factor", std::numeric_limits<float>::quiet_NaN());
    check_refused(b, "12", "the attention factor of rope scaling is nan");
}

TEST_CASE("YaRN and dynamic scaling are read from both formats")
{
    json root = config_of("Qwen2ForCausalLM");
    root["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}};
    const ModelConfig c = parse(root);
    CHECK(c.rope.factors.front() == 1.0f);
    CHECK(c.rope.factors.back() == Approx(4.0f));
    CHECK(c.rope.attention_factor == Approx(0.1 * std::log(4.0) + 1));
    root["rope_scaling"]["factor"] = 0.0;
    check_refused(root, "C5", "'factor' of rope scaling is not a number in (0, 1000000]");
    root["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 2.0}};
    CHECK(parse(root).rope.factors.empty());
    CHECK(parse(root).context == 128);

    auto b = tiny_gguf();
    b.set_string("llama.rope.scaling.type", "yarn");
    check_refused(b, "12", "'llama.rope.scaling.factor' is missing");
    b.set_f32("llama.rope.scaling.factor", 4.0f);
    b.set_u32("llama.rope.scaling.original_context_length", 64);
    CHECK(load(b).config.rope == c.rope);
    b.set_f32("llama.rope.scaling.yarn_attn_factor", 0.75f); // replaces the one computed from the factor
    CHECK(load(b).config.rope.attention_factor == 0.75f);
    b.set_f32("llama.rope.scaling.yarn_attn_factor", 0.0f);
    check_refused(b, "12", "the attention factor of rope scaling is 0");
    b.remove("llama.rope.scaling.yarn_attn_factor");
    b.set_f32("llama.rope.scaling.yarn_beta_fast", -1.0f);
    check_refused(b, "12", "'llama.rope.scaling.yarn_beta_fast' is not a number in (0, 1e6]");
    b.remove("llama.rope.scaling.yarn_beta_fast");
    b.set_f32("llama.rope.scaling.yarn_log_multiplier", 0.1f);
    check_refused(b, "12", "'llama.rope.scaling.yarn_log_multiplier' is not supported");
    b.remove("llama.rope.scaling.yarn_log_multiplier");
    b.set_f32("llama.rope.scaling.factor", std::numeric_limits<float>::quiet_NaN());
    check_refused(b, "12", "yarn scaling by nan");
}

TEST_CASE("Granite's factors are read, and must be positive numbers")
{
    json root = config_of("GraniteForCausalLM");
    root["embedding_multiplier"] = 12.0;
    root["attention_multiplier"] = 0.0078125;
    root["residual_multiplier"] = 0.22;
    root["logits_scaling"] = 8.0;
    const ModelConfig c = parse(root);
    CHECK(c.embedding_factor == 12.0f);
    CHECK(c.scale() == 0.0078125f);
    CHECK(c.residual_factor == 0.22f);
    CHECK(c.logit_factor == 0.125f);
    for (const char* key :
         {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"}) {
        json bad = root;
        bad[key] = 0;
        check_refused(bad, "C5", "'" + std::string(key) + "' is 0, expected a number in (0, 1000000]");
        bad[key] = "1";
        check_refused(bad, "C3", "'" + std::string(key) + "' is not a number");
    }
}

TEST_CASE("settings that are not supported in a family are refused by name")
{
    json olmo = config_of("Olmo2ForCausalLM");
    CHECK(parse(olmo).head_norm == HeadNorm::AcrossHeads);
    CHECK_FALSE(parse(olmo).pre_norms);
    olmo["attention_bias"] = true;
    check_refused(olmo, "C6", "'attention_bias' is not supported");
    json sparse = config_of("Qwen3MoeForCausalLM");
    check_refused(sparse, "C6", "a mixture of no experts is not supported");
    sparse["num_experts"] = 4;
    sparse["num_experts_per_tok"] = 2;
    check_refused(sparse, "C5", "'moe_intermediate_size' is 0");
    sparse["moe_intermediate_size"] = 16;
    CHECK(parse(sparse).ffn == 16);
    CHECK_FALSE(parse(sparse).experts.renormalise);
    sparse["mlp_only_layers"] = {0};
    check_refused(sparse, "C6",
                  "a mixture of layers with and without experts ('mlp_only_layers') is not supported");
    sparse["mlp_only_layers"] = {1}; // the only layer is layer 0
    CHECK(parse(sparse).ffn == 16);
    sparse["mlp_only_layers"] = "none";
    check_refused(sparse, "C3", "'mlp_only_layers' is not a list of integers of 0 or more");
    sparse["mlp_only_layers"] = {-1};
    check_refused(sparse, "C3", "'mlp_only_layers' is not a list of integers of 0 or more");
    sparse["mlp_only_layers"] = json::array();
    for (const int step : {0, 2}) {
        sparse["decoder_sparse_step"] = step;
        check_refused(sparse, "C6",
                      "a mixture of layers with and without experts ('decoder_sparse_step') is not supported");
    }
}
