#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Granite 3, dense: Llama with factors for embedding, residuals, attention and logits.
const Family& granite_family()
{
    static const Family family = {
        .architecture = "granite",
        .classes = {"GraniteForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                config.paired_rotary = fields.is_gguf();
                config.qkv_bias = fields.boolean({nullptr, "attention_bias"}).value_or(false);
                config.embedding_factor = positive(fields, {"embedding_scale", "embedding_multiplier"}, 1);
                config.residual_factor = positive(fields, {"residual_scale", "residual_multiplier"}, 1);
                // The scale of a file that states none: 1 / sqrt(head_dim) for GGUF, 1 for config.json.
                const double scale = fields.is_gguf() ? static_cast<double>(config.scale()) : 1.0;
                config.attention_scale = positive(fields, {"attention.scale", "attention_multiplier"}, scale);
                config.logit_factor = 1.0f / positive(fields, {"logit_scale", "logits_scaling"}, 1);
            },
        .kv_heads_optional = true,
    };
    return family;
}

} // namespace palimpsest::engine
