// docs/validation.md, C1 to C6: config.json.

#include <nlohmann/json.hpp>

#include "engine/model/files/hf_config.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;
using nlohmann::json;

namespace {

json tiny()
{
    return json::parse(tiny_config_json());
}

HfConfig parse(const json& root)
{
    return parse_hf_config(root.dump(), Refusal("config.json"));
}

void check(const std::string& text, const std::string& code, const std::string& part)
{
    const Refused refusal = refused([&] { parse_hf_config(text, Refusal("config.json")); });
    INFO(text << ": " << refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

// The tiny configuration with one value changed.
void check_with(const char* key, const json& value, const std::string& code, const std::string& part)
{
    json root = tiny();
    root[key] = value;
    check(root.dump(), code, part);
}

void check_without(const char* key, const std::string& code)
{
    json root = tiny();
    root.erase(key);
    check(root.dump(), code, "'" + std::string(key) + "' is missing");
}

} // namespace

TEST_CASE("all values of a Llama configuration are read")
{
    const HfConfig config = parse(tiny());
    const ModelConfig& c = config.model;
    CHECK(c.architecture == "llama");
    CHECK(c.layers == 1);
    CHECK(c.dim == 32);
    CHECK(c.heads == 4);
    CHECK(c.kv_heads == 2);
    CHECK(c.head_dim == 8);
    CHECK(c.rotary_dim == 8);
    CHECK(c.ffn == 32);
    CHECK(c.vocabulary == 20);
    CHECK(c.context == 128);
    CHECK(c.rms_epsilon == 1e-5f);
    CHECK(c.rope.base == 10000.0f);
    CHECK(c.rope.factors.empty());
    CHECK_FALSE(c.tied_embeddings);
    CHECK_FALSE(c.qkv_bias);
    CHECK_FALSE(c.paired_rotary);
    CHECK(config.bos == 1);
    CHECK(config.eos == 2);
}

TEST_CASE("absent and null values get the defaults of the transformers library")
{
    json root = tiny();
    for (const char* key :
         {"num_key_value_heads", "rope_theta", "hidden_act", "tie_word_embeddings", "bos_token_id"})
        root.erase(key);
    root["head_dim"] = nullptr;
    root["rope_scaling"] = nullptr;
    root["eos_token_id"] = {2, 7};
    root["attention_bias"] = true;
    root["auto_map"] = {{"AutoModel", "evil.py"}};
    const HfConfig config = parse(root);
    CHECK(config.model.kv_heads == 4);
    CHECK(config.model.head_dim == 8);
    CHECK(config.model.rope.base == 10000.0f);
    CHECK(config.model.qkv_bias);
    CHECK(config.bos == -1);
    CHECK(config.eos == 2);
    root["head_dim"] = 16;
    root["eos_token_id"] = json::array();
    CHECK(parse(root).model.head_dim == 16);
    CHECK(parse(root).eos == -1);
}

TEST_CASE("C1 limits the size of the file and refuses invalid JSON")
{
    check(std::string((1 << 20) + 1, ' '), "C1", "1048577 bytes");
    check("{", "C1", "not valid JSON");
    check(std::string(33, '[') + std::string(33, ']'), "C1", "nested deeper than 32 levels");
    check("[]", "C3", "not a JSON object");
}

TEST_CASE("C2 refuses missing and unknown architectures")
{
    check_without("architectures", "C2");
    check_with("architectures", json::array(), "C2", "'architectures' is missing");
    check_with("architectures", {1}, "C2", "'architectures' is missing");
    check_with("architectures", {"GemmaForCausalLM"}, "C2", "architecture 'GemmaForCausalLM' is not supported");
}

TEST_CASE("C3 refuses integers outside their limits")
{
    for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                            "intermediate_size", "vocab_size", "max_position_embeddings", "head_dim"}) {
        check_with(key, 0, "C3", "'" + std::string(key) + "' is 0");
        check_with(key, -4, "C3", "is not an integer");
        check_with(key, 4.0, "C3", "is not an integer");
        check_with(key, "4", "C3", "is not an integer");
    }
    for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                            "vocab_size", "max_position_embeddings"})
        check_without(key, "C3");
    check_with("num_hidden_layers", 1025, "C3", "'num_hidden_layers' is 1025, expected 1 to 1024");
    check_with("vocab_size", 18446744073709551615ull, "C3", "'vocab_size' is 18446744073709551615");
    check_with("tie_word_embeddings", 1, "C3", "'tie_word_embeddings' is not true or false");
    check_with("bos_token_id", 20, "C3", "'bos_token_id' is not an id below the vocabulary of 20");
    check_with("eos_token_id", "2", "C3", "'eos_token_id' is not an id");
    json root = tiny();
    root["max_position_embeddings"] = uint64_t{1} << 40;
    CHECK(parse(root).model.context == 1 << 24);
}

TEST_CASE("C4 refuses sizes that contradict one another")
{
    check_with("num_key_value_heads", 3, "C4", "4 query heads do not divide among 3");
    check_with("num_attention_heads", 5, "C4", "does not divide into 5 heads");
    check_with("head_dim", 7, "C4", "the rotary size is 7");
}

TEST_CASE("C5 refuses floats that are not finite or out of range")
{
    check_without("rms_norm_eps", "C5");
    check_with("rms_norm_eps", 0.0, "C5", "the norm epsilon is 0");
    check_with("rms_norm_eps", 1e300, "C5", "the norm epsilon is inf");
    check_with("rms_norm_eps", "1e-5", "C3", "'rms_norm_eps' is not a number");
    check_with("rope_theta", 0.5, "C5", "the rope base is 0.5");
    check_with("rope_theta", -1e300, "C5", "the rope base is -inf");
    check_with("rope_theta", 2e12, "C5", "the rope base is 2e+12, expected a number in [1, 1e+12]");
    json published = json::parse(tiny_config_json());
    published["rope_theta"] = 3580165449.0;
    CHECK(parse(published).model.rope.base == 3580165449.0f);
    published["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
    CHECK(parse(published).model.rope.factors.size() == 4);
    published["rope_theta"] = 2e12;
    check(published.dump(), "C5", "yarn scaling needs a 'rope_theta' in (1, 1e+12]");
    const auto linear = [](const json& factor) { return json{{"type", "linear"}, {"factor", factor}}; };
    check_with("rope_scaling", linear(0), "C5", "'factor' of rope scaling is not a number in (0, 1000000]");
    check_with("rope_scaling", linear(2e6), "C5", "'factor' of rope scaling");
    check_with("rope_scaling", linear("4"), "C5", "'factor' is not a number");
    check_with("rope_scaling", {{"type", "linear"}}, "C5", "rope scaling has no 'factor'");
    check_with("rope_scaling", "linear", "C5", "not a JSON object");
    const auto llama3 = [](double low, double high) {
        return json{{"rope_type", "llama3"},
                    {"factor", 8.0},
                    {"low_freq_factor", low},
                    {"high_freq_factor", high},
                    {"original_max_position_embeddings", 64}};
    };
    check_with("rope_scaling", llama3(4, 4), "C5", "'low_freq_factor' is not below 'high_freq_factor'");
    json root = tiny();
    root["rope_scaling"] = llama3(1, 4);
    root["rope_theta"] = 0.0;
    check(root.dump(), "C5", "the rope base is 0");
}

TEST_CASE("C6 names and refuses settings that would change the computation")
{
    check_with("hidden_act", "gelu", "C6", "activation 'gelu' is not supported");
    check_with("mlp_bias", true, "C6", "'mlp_bias' is not supported");
    check_with("partial_rotary_factor", 0.5, "C6", "'partial_rotary_factor' is not supported");
    check_with("rope_parameters", {{"partial_rotary_factor", 0.5}}, "C6",
               "'partial_rotary_factor' is not supported");
    check_with("quantization_config", {{"quant_method", "gptq"}}, "C6", "weights quantised by 'gptq'");
    check_with("rope_scaling", {{"rope_type", "mrope"}, {"factor", 2.0}}, "C6",
               "rope scaling 'mrope' is not supported; use a model with none");
}

TEST_CASE("each layer gets its window, or none")
{
    json root = tiny();
    root["architectures"] = {"MistralForCausalLM"};
    root["num_hidden_layers"] = 3;
    root["max_position_embeddings"] = 8192;
    const auto windows = [&] {
        std::vector<int32_t> found;
        const ModelConfig c = parse(root).model;
        for (int32_t l = 0; l < c.layers; ++l)
            found.push_back(c.plan(l).window);
        return found;
    };
    using Windows = std::vector<int32_t>;
    CHECK(windows() == Windows{4096, 4096, 4096}); // the default of transformers
    root["sliding_window"] = 8191;
    CHECK(windows() == Windows{8191, 8191, 8191});
    root["sliding_window"] = 8192; // masks nothing
    CHECK(windows() == Windows{0, 0, 0});
    root["sliding_window"] = nullptr;
    CHECK(windows() == Windows{0, 0, 0});
    root["sliding_window"] = 0;
    check(root.dump(), "C5", "'sliding_window' is 0, expected 1 or more, or null");
    root["sliding_window"] = -1;
    check(root.dump(), "C3", "'sliding_window' is not an integer");
    root["sliding_window"] = 16;
    root["layer_types"] = {"full_attention", "sliding_attention", "full_attention"};
    CHECK(windows() == Windows{0, 16, 0});
    root["layer_types"] = {"full_attention", "sliding_attention"};
    check(root.dump(), "C6", "'layer_types' is not a list of 3 layers");
    root["layer_types"] = {"full_attention", "sliding_attention", "chunked_attention"};
    check(root.dump(), "C6", "layers other than 'full_attention' and 'sliding_attention'");
    root.erase("layer_types");
    root.erase("num_key_value_heads");
    check(root.dump(), "C3", "'num_key_value_heads' is missing");

    root["num_key_value_heads"] = 2;
    root["architectures"] = {"Qwen2ForCausalLM"};
    CHECK(parse(root).model.qkv_bias);
    CHECK(windows() == Windows{0, 0, 0}); // off by default
    root["use_sliding_window"] = true;
    root["max_window_layers"] = 1;
    CHECK(windows() == Windows{0, 16, 16});

    root["architectures"] = {"LlamaForCausalLM"}; // never uses windows
    CHECK(windows() == Windows{0, 0, 0});
}

TEST_CASE("rope scalings of config.json are read in their old and new spelling")
{
    json root = tiny();
    root["rope_scaling"] = {{"type", "linear"}, {"factor", 4}};
    CHECK(parse(root).model.rope.factors == std::vector<float>(4, 4.0f));
    root["rope_scaling"] = {{"rope_type", "default"}};
    CHECK(parse(root).model.rope.factors.empty());
    root.erase("rope_scaling");
    root.erase("rope_theta");
    root["rope_parameters"] = {{"rope_theta", 500000.0}, {"rope_type", "linear"}, {"factor", 2.0}};
    CHECK(parse(root).model.rope.base == 500000.0f);
    CHECK(parse(root).model.rope.factors == std::vector<float>(4, 2.0f));
}
