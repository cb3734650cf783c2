#include "engine/model/hf_config.h"

#include "engine/model/config_check.h"
#include "engine/model/json_fields.h"
#include "engine/model/limits.h"
#include "engine/model/rope_factors.h"
#include "engine/model/strict_json.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

class ConfigReader {
public:
    ConfigReader(const json& root, const Refusal& refuse)
        : root_(root), fields_(root, refuse, "C3"), refuse_(refuse)
    {
    }

    HfConfig read()
    {
        read_architecture();
        read_shape();
        refuse_unsupported();
        refuse_sliding_window();
        c_.rms_epsilon = static_cast<float>(required_number("rms_norm_eps"));
        read_rope();
        c_.tied_embeddings = fields_.boolean("tie_word_embeddings").value_or(false);
        c_.qkv_bias = fields_.boolean("attention_bias").value_or(false) || c_.architecture == "qwen2";
        check_config(c_, refuse_, {"C3", "C4", "C5"});
        return {c_, special("bos_token_id"), special("eos_token_id")};
    }

private:
    void read_architecture()
    {
        const json* list = fields_.find("architectures");
        if (!list || !list->is_array() || list->empty() || !(*list)[0].is_string())
            refuse_.fail("C2", "'architectures' is missing");
        const auto name = (*list)[0].get<std::string>();
        is_mistral_ = name == "MistralForCausalLM";
        if (name == "LlamaForCausalLM" || is_mistral_) {
            c_.architecture = "llama";
        } else if (name == "Qwen2ForCausalLM") {
            c_.architecture = "qwen2";
        } else {
            refuse_.fail("C2", "architecture " + in_quotes(name) + " is not supported",
                         "use LlamaForCausalLM, MistralForCausalLM or Qwen2ForCausalLM");
        }
    }

    uint64_t required(const char* key) const
    {
        const auto number = fields_.integer(key);
        if (!number) refuse_.fail("C3", in_quotes(key) + " is missing");
        return *number;
    }

    double required_number(const char* key) const
    {
        const auto number = fields_.number(key);
        if (!number) refuse_.fail("C5", in_quotes(key) + " is missing");
        return *number;
    }

    int32_t size(const char* key, uint64_t limit) const
    {
        return checked_size(required(key), limit, key, refuse_, "C3");
    }

    void read_shape()
    {
        c_.layers = size("num_hidden_layers", limits::layers);
        c_.dim = size("hidden_size", limits::dim);
        c_.ffn = size("intermediate_size", limits::ffn);
        c_.heads = size("num_attention_heads", limits::heads);
        // The library's default differs between architectures; only old Llama files leave it out.
        const bool is_plain_llama = c_.architecture == "llama" && !is_mistral_;
        c_.kv_heads = fields_.find("num_key_value_heads") || !is_plain_llama
                          ? size("num_key_value_heads", limits::heads)
                          : c_.heads;
        c_.head_dim = fields_.find("head_dim") ? size("head_dim", limits::head_dim)
                                               : derived_head_dim(c_.dim, c_.heads, refuse_, "C4");
        c_.rotary_dim = c_.head_dim;
        c_.vocabulary = size("vocab_size", limits::vocabulary);
        c_.context = checked_context(required("max_position_embeddings"), "max_position_embeddings", refuse_, "C3");
    }

    void refuse_unsupported() const
    {
        const auto refuse_value = [&](const std::string& what) {
            refuse_.fail("C6", what + " is not supported", Refusal::other_model);
        };
        const std::string activation = fields_.string("hidden_act").value_or("silu");
        if (activation != "silu") refuse_value("activation " + in_quotes(activation));
        if (fields_.boolean("mlp_bias").value_or(false)) refuse_value("'mlp_bias'");
        if (fields_.number("partial_rotary_factor").value_or(1.0) != 1.0) refuse_value("'partial_rotary_factor'");
        const json* quantization = fields_.find("quantization_config");
        if (!quantization) return;
        const auto method = JsonFields(*quantization, refuse_, "C6").string("quant_method").value_or("unknown");
        refuse_.fail("C6", "weights quantised by " + in_quotes(method) + " are not supported",
                     "use the unquantised model, or a GGUF file with q8_0 tensors");
    }

    void refuse_sliding_window() const
    {
        const json* layers = fields_.find("layer_types");
        if (layers) {
            if (!layers->is_array()) refuse_.fail("C6", "'layer_types' is not a list");
            for (const json& layer : *layers)
                if (layer != "full_attention" && !(is_mistral_ && layer == "sliding_attention"))
                    refuse_.fail("C6", "layers other than 'full_attention' are not supported",
                                 Refusal::other_model);
        }
        uint64_t window = fields_.integer("sliding_window").value_or(UINT64_MAX);
        if (is_mistral_ && !root_.contains("sliding_window")) window = 4096; // what the library takes for absent
        if (c_.architecture == "qwen2" && !fields_.boolean("use_sliding_window").value_or(false)) return;
        if (c_.architecture == "llama" && !is_mistral_) return;
        if (window < static_cast<uint64_t>(c_.context)) {
            refuse_.fail("C6",
                         "sliding-window attention over " + std::to_string(window) + " of " +
                             std::to_string(c_.context) + " tokens is not supported",
                         Refusal::other_model);
        }
    }

    void read_rope()
    {
        double base = fields_.number("rope_theta").value_or(10000.0);
        const json* scaling = fields_.find("rope_scaling");
        if (!scaling) scaling = fields_.find("rope_parameters"); // transformers 5
        if (scaling) {
            const JsonFields rope(*scaling, refuse_, "C5");
            base = rope.number("rope_theta").value_or(base);
            if (rope.number("partial_rotary_factor").value_or(1.0) != 1.0)
                refuse_.fail("C6", "'partial_rotary_factor' is not supported", Refusal::other_model);
        }
        c_.rope_base = static_cast<float>(base);
        if (scaling) read_scaling(JsonFields(*scaling, refuse_, "C5"), base);
    }

    void read_scaling(const JsonFields& rope, double base)
    {
        auto type = rope.string("rope_type");
        if (!type) type = rope.string("type").value_or("default");
        if (*type == "default") return;
        if (*type != "linear" && *type != "llama3") {
            refuse_.fail("C6", "rope scaling " + in_quotes(*type) + " is not supported yet",
                         "use a model with none, linear or llama3 scaling");
        }
        const double factor = rope_number(rope, "factor");
        if (*type == "linear") {
            c_.rope_factors = linear_rope_factors(c_.rotary_dim, factor);
            return;
        }
        const Llama3Scaling scaling = {factor, rope_number(rope, "low_freq_factor"),
                                       rope_number(rope, "high_freq_factor"),
                                       rope_number(rope, "original_max_position_embeddings", 1e9)};
        if (scaling.low_freq_factor >= scaling.high_freq_factor)
            refuse_.fail("C5", "'low_freq_factor' is not below 'high_freq_factor'");
        if (!(base >= 1.0 && base <= 1e9)) return; // check_config says so
        c_.rope_factors = llama3_rope_factors(c_.rotary_dim, base, scaling);
    }

    double rope_number(const JsonFields& rope, const char* key, double largest = 1e6) const
    {
        const auto value = rope.number(key);
        if (!value) refuse_.fail("C5", "rope scaling has no " + in_quotes(key));
        if (!(*value > 0.0 && *value <= largest))
            refuse_.fail("C5", in_quotes(key) + " of rope scaling is not a number in (0, " +
                                   std::to_string(static_cast<int64_t>(largest)) + "]");
        return *value;
    }

    TokenId special(const char* key) const
    {
        const json* id = fields_.find(key);
        if (id && id->is_array()) id = id->empty() ? nullptr : &(*id)[0]; // several ends: the first
        if (!id) return -1;
        if (!id->is_number_unsigned() || id->get<uint64_t>() >= static_cast<uint64_t>(c_.vocabulary))
            refuse_.fail("C3",
                         in_quotes(key) + " is not an id below the vocabulary of " + std::to_string(c_.vocabulary));
        return id->get<TokenId>();
    }

    const json& root_;
    JsonFields fields_;
    const Refusal& refuse_;
    ModelConfig c_;
    bool is_mistral_ = false;
};

} // namespace

HfConfig parse_hf_config(std::string_view text, const Refusal& refuse)
{
    if (text.size() > limits::config_bytes)
        refuse.fail("C1", "the file has " + std::to_string(text.size()) + " bytes, the limit is 1048576");
    const json root = parse_strict_json(text, {limits::json_depth, limits::json_values}, refuse, "C1");
    return ConfigReader(root, refuse).read();
}

} // namespace palimpsest::engine
