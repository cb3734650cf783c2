#include "engine/model/files/hf_config.h"

#include <algorithm>

#include "engine/model/config/limits.h"
#include "engine/model/files/config_check.h"
#include "engine/model/files/hf_rope.h"
#include "engine/model/files/json_fields.h"
#include "engine/model/files/strict_json.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

// The values of the object, and the family's defaults for missing keys; an explicit null means "none".
class HfFields final : public ConfigFields {
public:
    HfFields(const json& object, const Family& family, const Refusal& refuse)
        : object_(object), fields_(object, refuse, ErrorCode::ModelC3), family_(family), refuse_(refuse)
    {
    }

    bool is_gguf() const override { return false; }
    std::optional<uint64_t> integer(ConfigKey key) const override
    {
        if (!key.hf) return std::nullopt;
        if (object_.contains(key.hf)) return fields_.integer(key.hf);
        const auto value = family_.default_of(key.hf);
        return value ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
    }
    std::optional<double> number(ConfigKey key) const override
    {
        if (!key.hf) return std::nullopt;
        return object_.contains(key.hf) ? fields_.number(key.hf) : family_.default_of(key.hf);
    }
    std::optional<bool> boolean(ConfigKey key) const override
    {
        return key.hf ? fields_.boolean(key.hf) : std::nullopt;
    }
    std::optional<std::vector<bool>> listed_windows(int32_t layers) const override
    {
        const json* types = fields_.find("layer_types");
        if (!types) return std::nullopt;
        if (!types->is_array() || types->size() != static_cast<size_t>(layers))
            refuse_.fail(ErrorCode::ModelC6, Text("'layer_types' is not a list of {0} layers", layers));
        std::vector<bool> windows;
        for (const json& type : *types) {
            if (type != "full_attention" && type != "sliding_attention")
                refuse_.fail(ErrorCode::ModelC6,
                             Text("layers other than 'full_attention' and 'sliding_attention' are not supported"),
                             Refusal::other_model());
            windows.push_back(type == "sliding_attention");
        }
        return windows;
    }
    std::vector<uint64_t> integers(ConfigKey key) const override
    {
        const json* list = key.hf ? fields_.find(key.hf) : nullptr;
        if (!list) return {};
        const auto is_integer = [](const json& value) { return value.is_number_unsigned(); };
        if (!list->is_array() || !std::ranges::all_of(*list, is_integer))
            refuse_.fail(ErrorCode::ModelC3, Text("{0} is not a list of integers of 0 or more", in_quotes(key.hf)));
        return list->get<std::vector<uint64_t>>();
    }
    std::string name(ConfigKey key) const override { return in_quotes(key.hf); }
    [[noreturn]] void refuse_value(const Text& what) const override
    {
        refuse_.fail(ErrorCode::ModelC5, what, Refusal::other_model());
    }
    [[noreturn]] void refuse_unsupported(const Text& what) const override
    {
        refuse_.fail(ErrorCode::ModelC6, what, Refusal::other_model());
    }

    const json* find(const char* key) const { return fields_.find(key); }
    const JsonFields& json_fields() const { return fields_; }

private:
    const json& object_;
    JsonFields fields_;
    const Family& family_;
    const Refusal& refuse_;
};

class HfConfigReader {
public:
    HfConfigReader(const json& object, const Family& family, const Refusal& refuse)
        : fields_(object, family, refuse), family_(family), refuse_(refuse)
    {
        c_.architecture = family.architecture;
    }

    HfConfig read()
    {
        read_shape();
        refuse_unsupported();
        c_.rms_epsilon = static_cast<float>(required_number("rms_norm_eps"));
        read_hf_rope(fields_.json_fields(), family_, refuse_, c_);
        c_.tied_embeddings = fields_.boolean({nullptr, "tie_word_embeddings"}).value_or(family_.tied);
        family_.describe(fields_, c_);
        check_config(c_, refuse_, {ErrorCode::ModelC4, ErrorCode::ModelC5});
        return {c_, special("bos_token_id"), special("eos_token_id"), &family_, false};
    }

private:
    uint64_t required(const char* key) const
    {
        const auto number = fields_.integer({nullptr, key});
        if (!number) refuse_.fail(ErrorCode::ModelC3, Text("{0} is missing", in_quotes(key)));
        return *number;
    }

    double required_number(const char* key) const
    {
        const auto number = fields_.number({nullptr, key});
        if (!number) refuse_.fail(ErrorCode::ModelC5, Text("{0} is missing", in_quotes(key)));
        return *number;
    }

    int32_t size(const char* key, uint64_t limit) const
    {
        return checked_size(required(key), limit, Text::verbatim(in_quotes(key)), refuse_, ErrorCode::ModelC3);
    }

    void read_shape()
    {
        c_.layers = size("num_hidden_layers", limits::layers);
        c_.dim = size("hidden_size", limits::dim);
        c_.ffn = size("intermediate_size", limits::ffn);
        c_.heads = size("num_attention_heads", limits::heads);
        const bool as_queries = family_.kv_heads_optional && !fields_.find("num_key_value_heads");
        c_.kv_heads = as_queries ? c_.heads : size("num_key_value_heads", limits::heads);
        c_.head_dim = fields_.integer({nullptr, "head_dim"})
                          ? size("head_dim", limits::head_dim)
                          : derived_head_dim(c_.dim, c_.heads, refuse_, ErrorCode::ModelC4);
        c_.vocabulary = size("vocab_size", limits::vocabulary);
        constexpr const char* context = "max_position_embeddings";
        c_.context =
            checked_context(required(context), Text::verbatim(in_quotes(context)), refuse_, ErrorCode::ModelC3);
    }

    void refuse_unsupported() const
    {
        const JsonFields& fields = fields_.json_fields();
        const char* key = fields_.find("hidden_activation") ? "hidden_activation" : "hidden_act";
        const std::string activation = fields.string(key).value_or(std::string(family_.activations.front()));
        if (std::ranges::find(family_.activations, activation) == family_.activations.end())
            fields_.refuse_unsupported(Text("activation {0} is not supported", in_quotes(activation)));
        if (fields_.boolean({nullptr, "mlp_bias"}).value_or(false))
            fields_.refuse_unsupported(Text("{0} is not supported", "'mlp_bias'"));
        const json* quantization = fields_.find("quantization_config");
        if (!quantization) return;
        const auto method =
            JsonFields(*quantization, refuse_, ErrorCode::ModelC6).string("quant_method").value_or("unknown");
        refuse_.fail(ErrorCode::ModelC6, Text("weights quantised by {0} are not supported", in_quotes(method)),
                     Text("use the unquantised model, or a GGUF file of it"));
    }

    TokenId special(const char* key) const
    {
        const json* id = fields_.find(key);
        if (id && id->is_array()) id = id->empty() ? nullptr : &(*id)[0]; // a list of end tokens: takes the first
        if (!id) return -1;
        if (!id->is_number_unsigned() || id->get<uint64_t>() >= static_cast<uint64_t>(c_.vocabulary))
            refuse_.fail(ErrorCode::ModelC3,
                         Text("{0} is not an id below the vocabulary of {1}", in_quotes(key), c_.vocabulary));
        return id->get<TokenId>();
    }

    HfFields fields_;
    const Family& family_;
    const Refusal& refuse_;
    ModelConfig c_;
};

const Family& family_of(const JsonFields& root, const Refusal& refuse)
{
    const json* list = root.find("architectures");
    if (!list || !list->is_array() || list->empty() || !(*list)[0].is_string())
        refuse.fail(ErrorCode::ModelC2, Text("{0} is missing", "'architectures'"));
    const auto name = (*list)[0].get<std::string>();
    const Family* family = family_of_class(name);
    if (!family)
        refuse.fail(ErrorCode::ModelC2, Text("architecture {0} is not supported", in_quotes(name)),
                    Text("use a model of architecture {0}", known_classes()));
    return *family;
}

} // namespace

HfConfig parse_hf_config(std::string_view text_of_file, const Refusal& refuse)
{
    if (text_of_file.size() > limits::config_bytes)
        refuse.fail(ErrorCode::ModelC1,
                    Text("the file has {0} bytes, the limit is {1}", text_of_file.size(), limits::config_bytes));
    const json root =
        parse_strict_json(text_of_file, {limits::json_depth, limits::json_values}, refuse, ErrorCode::ModelC1);
    const JsonFields fields(root, refuse, ErrorCode::ModelC3);
    const Family& family = family_of(fields, refuse);
    const json* text = fields.find("text_config"); // multimodal models
    if (!text) return HfConfigReader(root, family, refuse).read();
    // Keys that 'text_config' lacks may be in the outer object.
    if (!text->is_object()) refuse.fail(ErrorCode::ModelC3, Text("'text_config' is not a JSON object"));
    json merged = *text;
    for (const char* key : {"bos_token_id", "eos_token_id", "tie_word_embeddings", "quantization_config"})
        if (!merged.contains(key) && root.contains(key)) merged[key] = root[key];
    HfConfig config = HfConfigReader(merged, family, refuse).read();
    config.is_part = true;
    return config;
}

} // namespace palimpsest::engine
