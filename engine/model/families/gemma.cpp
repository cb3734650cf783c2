#include "engine/model/families/gemma.h"

#include <cmath>

namespace palimpsest::engine {

void describe_gemma(const ConfigFields& fields, ModelConfig& config)
{
    config.post_norms = true;
    config.activation = kernels::Activation::GeluTanh;
    config.norm_offset = fields.is_gguf() ? 0.0f : 1.0f;
    config.embedding_factor = std::sqrt(static_cast<float>(config.dim));
    if (fields.boolean({nullptr, "attention_bias"}).value_or(false))
        fields.refuse_unsupported(Text("{0} is not supported", "'attention_bias'"));
}

void read_gemma_scale(const ConfigFields& fields, ModelConfig& config, int32_t layers_of_largest)
{
    const bool largest = config.layers == layers_of_largest;
    const double derived = largest ? static_cast<double>(config.dim) / config.heads : config.head_dim;
    if (fields.is_gguf())
        config.attention_scale = positive(fields, {"attention.scale", nullptr}, 1.0 / std::sqrt(derived));
    else
        config.attention_scale =
            1.0f / std::sqrt(positive(fields, {nullptr, "query_pre_attn_scalar"}, config.head_dim));
}

float read_soft_cap(const ConfigFields& fields, ConfigKey key, double gguf_cap)
{
    if (fields.number(key)) return positive(fields, key, 0);
    return fields.is_gguf() ? static_cast<float>(gguf_cap) : 0.0f;
}

std::vector<std::pair<std::string_view, std::string_view>> gemma_tensor_names()
{
    return {{"post_attention_layernorm", "post_attention_norm"},
            {"pre_feedforward_layernorm", "ffn_norm"},
            {"post_feedforward_layernorm", "post_ffw_norm"}};
}

} // namespace palimpsest::engine
