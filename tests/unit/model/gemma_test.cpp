// The configurations of Gemma 2 and 3, read from both formats and from the files that Ollama's converter writes.

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "engine/model/files/gguf_model.h"
#include "engine/model/files/hf_config.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/english.h"
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

// The tiny model with Gemma's sizes and norms, and no other keys.
GgufBuilder tiny_gemma(const std::string& architecture)
{
    GgufBuilder b = tiny_gguf();
    b.set_string("general.architecture", architecture);
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, uint32_t>>{{"block_count", 1},
                                                       {"context_length", 128},
                                                       {"embedding_length", tiny_dim},
                                                       {"feed_forward_length", tiny_ffn},
                                                       {"attention.head_count", tiny_heads},
                                                       {"attention.head_count_kv", tiny_kv_heads},
                                                       {"attention.key_length", tiny_head_dim},
                                                       {"attention.value_length", tiny_head_dim}})
        b.set_u32(architecture + "." + key, value);
    for (const char* name : {"blk.0.post_attention_norm.weight", "blk.0.post_ffw_norm.weight"})
        b.tensors.push_back({name, {tiny_dim}, 0, Bytes().pad_to(tiny_dim * 4), std::nullopt});
    return b;
}

GgufBuilder tiny_gemma2()
{
    GgufBuilder b = tiny_gemma("gemma2");
    b.set_u32("gemma2.attention.sliding_window", 16);
    b.set_f32("gemma2.attention.layer_norm_rms_epsilon", 1e-6f);
    return b;
}

// As Ollama's converter wrote multimodal models: without an epsilon and without keys about rotary angles.
GgufBuilder tiny_gemma3()
{
    GgufBuilder b = tiny_gemma("gemma3");
    b.set_u32("gemma3.attention.sliding_window", 16);
    for (const char* name : {"blk.0.attn_q_norm.weight", "blk.0.attn_k_norm.weight"})
        b.tensors.push_back({name, {tiny_head_dim}, 0, Bytes().pad_to(tiny_head_dim * 4), std::nullopt});
    return b;
}

// The same model with more layers, all copies of the first.
GgufBuilder of_layers(GgufBuilder b, uint32_t layers)
{
    b.set_u32("gemma3.block_count", layers);
    const auto first = b.tensors;
    for (uint32_t layer = 1; layer < layers; ++layer)
        for (const auto& tensor : first)
            if (tensor.name.starts_with("blk.0.")) {
                b.tensors.push_back(tensor);
                b.tensors.back().name.replace(4, 1, std::to_string(layer));
            }
    return b;
}

std::vector<int32_t> windows_of(const ModelConfig& c)
{
    std::vector<int32_t> windows;
    for (int32_t l = 0; l < c.layers; ++l)
        windows.push_back(c.plan(l).window);
    return windows;
}

using Windows = std::vector<int32_t>;

} // namespace

TEST_CASE("Gemma 2 alternates local and global layers, caps its logits and scales attention by its head size")
{
    auto b = tiny_gemma2();
    const ModelConfig c = load(b).config;
    CHECK(c.post_norms);
    CHECK(c.activation == kernels::Activation::GeluTanh);
    CHECK(c.embedding_factor == std::sqrt(32.0f));
    CHECK(c.attention_soft_cap == 50.0f);
    CHECK(c.logit_soft_cap == 30.0f);
    CHECK(c.scale() == Approx(1 / std::sqrt(8.0)));
    CHECK(c.norm_offset == 0.0f);
    CHECK(windows_of(c) == Windows{16});
    for (const char* key : {"gemma2.attn_logit_softcapping", "gemma2.final_logit_softcapping"})
        for (const float cap :
             {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            b = tiny_gemma2();
            b.set_f32(key, cap);
            check_refused(b, "12", "'" + std::string(key) + "' is");
        }
    b = tiny_gemma2();
    b.set_u32("gemma2.attention.sliding_window", 4294967295u); // masks nothing
    CHECK(windows_of(load(b).config) == Windows{0});
    b.remove("gemma2.attention.sliding_window");
    CHECK(windows_of(load(b).config) == Windows{0}); // the default of 4096 masks nothing in a context of 128
    b.set_u32("gemma2.context_length", 8192);
    CHECK(windows_of(load(b).config) == Windows{4096});
    b.remove("gemma2.attention.layer_norm_rms_epsilon");
    check_refused(b, "12", "'gemma2.attention.layer_norm_rms_epsilon' is missing");
    b = tiny_gemma2();
    b.remove_tensor("blk.0.post_ffw_norm.weight");
    check_refused(b, "14", "'blk.0.post_ffw_norm.weight' is missing");

    json root = config_of("Gemma2ForCausalLM");
    root["hidden_act"] = "gelu_pytorch_tanh";
    root["num_hidden_layers"] = 4;
    root["sliding_window"] = 16;
    root["query_pre_attn_scalar"] = 144;
    const ModelConfig hf = parse(root);
    CHECK(hf.norm_offset == 1.0f);
    CHECK(hf.scale() == Approx(1 / 12.0));
    CHECK(hf.head_dim == 256); // the default of transformers
    CHECK(windows_of(hf) == Windows{16, 0, 16, 0});
    root["query_pre_attn_scalar"] = -4;
    check_refused(root, "C5", "'query_pre_attn_scalar' is -4");
    root["query_pre_attn_scalar"] = 144;
    root["hidden_act"] = "relu";
    check_refused(root, "C6", "activation 'relu' is not supported");
    root.erase("hidden_act");
    CHECK(parse(root).attention_soft_cap == 50.0f);
    CHECK(parse(root).logit_soft_cap == 30.0f);
    root["attn_logit_softcapping"] = nullptr;
    root["final_logit_softcapping"] = nullptr;
    CHECK(parse(root).attention_soft_cap == 0.0f);
    CHECK(parse(root).logit_soft_cap == 0.0f);
    root["final_logit_softcapping"] = 0;
    check_refused(root, "C5", "'final_logit_softcapping' is 0");
}

TEST_CASE("Gemma 3 has five local layers to each global one, and local layers have other rotary angles")
{
    json text = config_of("Gemma3ForCausalLM");
    text["hidden_act"] = "gelu_pytorch_tanh";
    text["num_hidden_layers"] = 7;
    text["sliding_window"] = 16;
    text["rope_theta"] = 1e6;
    text["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
    const ModelConfig c = parse(text);
    CHECK(windows_of(c) == Windows{16, 16, 16, 16, 16, 0, 16});
    CHECK(c.rope_of(0).base == 10000.0f);
    CHECK(c.rope_of(0).factors.empty());
    CHECK(c.rope_of(5).base == 1e6f);
    CHECK(c.rope_of(5).factors.front() == 8.0f);
    CHECK(c.head_norm == HeadNorm::PerHead);
    text["sliding_window_pattern"] = 2;
    CHECK(windows_of(parse(text)) == Windows{16, 0, 16, 0, 16, 0, 16});
    text["sliding_window_pattern"] = 0;
    check_refused(text, "C5", "'sliding_window_pattern' is 0");
    text.erase("sliding_window_pattern");

    json newer = text; // as transformers 5 writes it
    newer.erase("rope_theta");
    newer.erase("rope_scaling");
    newer["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
                                {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}};
    CHECK(parse(newer).rope == c.rope);
    CHECK(parse(newer).local_rope == c.local_rope);

    json whole = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                  {"text_config", text},
                  {"vision_config", {{"hidden_size", 1152}}},
                  {"eos_token_id", {2, 3}}};
    whole["text_config"].erase("vocab_size");
    whole["text_config"].erase("architectures");
    const HfConfig part = parse_hf_config(whole.dump(), Refusal("config.json"));
    CHECK(part.is_part);
    CHECK(part.model.vocabulary == 262208); // the default of transformers
    CHECK(part.eos == 2);
    CHECK(windows_of(part.model) == windows_of(c));
    whole["text_config"] = "none";
    check_refused(whole, "C3", "'text_config' is not a JSON object");
}

TEST_CASE("GGUF files of Gemma 3 without a window have global layers only")
{
    auto b = of_layers(tiny_gemma3(), 7);
    CHECK(windows_of(load(b).config) == Windows{16, 16, 16, 16, 16, 0, 16});
    b.set_u32("gemma3.attention.sliding_window_pattern", 2);
    CHECK(windows_of(load(b).config) == Windows{16, 0, 16, 0, 16, 0, 16});
    b.set_u32("gemma3.attention.sliding_window", 256); // masks nothing, but there are local layers
    CHECK(load(b).config.plan(0) == LayerPlan{0, true});
    b.set_u32("gemma3.attention.sliding_window", 0);
    CHECK(load(b).config.plans.empty());
    b.remove("gemma3.attention.sliding_window");
    CHECK(load(b).config.plans.empty());
}

TEST_CASE("in GGUF files of Gemma 3 epsilon and rope bases may be absent, or have the names that Ollama gives them")
{
    auto b = tiny_gemma3();
    ModelConfig c = load(b).config;
    CHECK(c.rms_epsilon == 1e-6f);
    CHECK(c.rope.base == 1e6f);
    CHECK(c.local_rope.base == 10000.0f);
    b.set_f32("gemma3.rope.global.freq_base", 2e6f);
    b.set_f32("gemma3.rope.local.freq_base", 20000.0f);
    c = load(b).config;
    CHECK(c.rope.base == 2e6f);
    CHECK(c.local_rope.base == 20000.0f);
    b.set_f32("gemma3.rope.freq_base", 3e6f);
    b.set_f32("gemma3.rope.freq_base_swa", 30000.0f);
    c = load(b).config;
    CHECK(c.rope.base == 3e6f);
    CHECK(c.local_rope.base == 30000.0f);
    b.set_f32("gemma3.rope.local.freq_base", std::numeric_limits<float>::quiet_NaN());
    b.remove("gemma3.rope.freq_base_swa");
    check_refused(b, "12", "the rope base is nan");
}

TEST_CASE("rope of Gemma 3 with 34, 48 or 62 layers is scaled if the GGUF file does not mention rotary angles")
{
    for (const uint32_t layers : {34u, 48u, 62u}) {
        auto b = of_layers(tiny_gemma3(), layers);
        CHECK(load(b).config.rope.factors == std::vector<float>(4, 8.0f));
        CHECK(load(b).config.local_rope.factors.empty());
        b.set_f32("gemma3.rope.scaling.factor", 2.0f);
        CHECK(load(b).config.rope.factors == std::vector<float>(4, 2.0f));
        b.remove("gemma3.rope.scaling.factor");
        b.set_f32("gemma3.rope.freq_base", 1e6f);
        CHECK(load(b).config.rope.factors.empty());
    }
    CHECK(load(of_layers(tiny_gemma3(), 26)).config.rope.factors.empty());
}

TEST_CASE("the soft cap that Ollama's first conversions gave Gemma 3 1B is not used")
{
    auto b = of_layers(tiny_gemma3(), 26);
    b.set_f32("gemma3.final_logit_softcapping", 30.0f);
    CHECK(load(b).config.logit_soft_cap == 30.0f);
    b.set_f32("gemma3.rope.global.freq_base", 1e6f);
    CHECK(load(b).config.logit_soft_cap == 0.0f);
    b.set_f32("gemma3.final_logit_softcapping", 20.0f);
    CHECK(load(b).config.logit_soft_cap == 20.0f);
    b = tiny_gemma3(); // has one layer, so it is not the 1B model, which has 26
    b.set_f32("gemma3.rope.global.freq_base", 1e6f);
    b.set_f32("gemma3.final_logit_softcapping", 30.0f);
    CHECK(load(b).config.logit_soft_cap == 30.0f);
}

TEST_CASE("image tensors of a GGUF file give one warning and are not used")
{
    auto b = tiny_gemma3();
    for (const char* name : {"v.patch_embedding.weight", "v.blk.0.attn_q.weight", "mm.input_projection.weight"})
        b.tensors.push_back({name, {2, 2}, 0, Bytes().pad_to(16), std::nullopt});
    const ModelFiles model = load(b);
    CHECK(english(model.warnings) ==
          std::vector<std::string>{"3 tensors for images are not used: the model reads text"});
    CHECK_FALSE(model.find("v.patch_embedding.weight"));
}

TEST_CASE("tokens without a row in the embedding are dropped if ordinary text cannot be encoded to them")
{
    const auto with_surplus = [](int32_t type) {
        auto b = tiny_gemma3();
        std::vector<std::string> pieces = tiny_pieces(271);
        pieces.back() = "<image_soft_token>";
        std::vector<int32_t> types(271, 1);
        types[0] = 2;
        types[1] = types[2] = 3;
        std::fill_n(types.begin() + 3, 256, 6);
        types.back() = type;
        b.set_strings("tokenizer.ggml.tokens", pieces);
        b.set_floats("tokenizer.ggml.scores", std::vector<float>(271, -1.0f));
        b.set_ints("tokenizer.ggml.token_type", types);
        return b;
    };
    for (const int32_t type : {3, 4, 5}) { // control, user-defined, unused
        const ModelFiles model = load(with_surplus(type));
        CHECK(model.vocabulary.pieces.size() == 270);
        CHECK(model.vocabulary.scores.size() == 270);
        CHECK(model.vocabulary.types.size() == 270);
        CHECK(
            english(model.warnings) ==
            std::vector<std::string>{"the vocabulary has 271 tokens but the embedding has 270 rows: special tokens "
                                     "from '<image_soft_token>' on are not used"});
    }
    for (const int32_t type : {1, 2, 6})
        check_refused(with_surplus(type), "13", "the vocabulary has 271 tokens but the embedding has 270 rows");
    auto b = with_surplus(4);
    b.set_u32("tokenizer.ggml.eos_token_id", 270);
    check_refused(b, "13", "'tokenizer.ggml.eos_token_id' is 270 but the vocabulary has 270 tokens");
}

TEST_CASE("of a multimodal model only the text part is loaded")
{
    json text = config_of("Gemma3ForCausalLM");
    text["hidden_act"] = "gelu_pytorch_tanh";
    text["head_dim"] = tiny_head_dim;
    text["tie_word_embeddings"] = true;
    TinyFolder folder;
    folder.config = json({{"architectures", {"Gemma3ForConditionalGeneration"}}, {"text_config", text}}).dump();
    SafetensorsEntries entries;
    for (const auto& [name, entry] : tiny_safetensors())
        if (name != "lm_head.weight") entries["language_model." + name] = entry;
    const std::string layer = "language_model.model.layers.0.";
    for (const char* name : {"pre_feedforward_layernorm", "post_feedforward_layernorm"})
        entries[layer + name + ".weight"] = entries[layer + "input_layernorm.weight"];
    for (const char* name : {"self_attn.q_norm", "self_attn.k_norm"})
        entries[layer + name + ".weight"] = {"F32", {tiny_head_dim}, Bytes().pad_to(tiny_head_dim * 4)};
    entries["vision_tower.embeddings.weight"] = {"F32", {2}, Bytes().pad_to(8)};
    entries["multi_modal_projector.norm.weight"] = {"F32", {2}, Bytes().pad_to(8)};
    folder.weights = {{"model.safetensors", safetensors(entries)}};
    const ModelFiles model = assemble_hf_model(folder.files());
    CHECK(model.find("blk.0.post_ffw_norm.weight"));
    CHECK(std::ranges::count(english(model.warnings), "2 tensors for images are not used: the model reads text") ==
          1);
}
