#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Granite 3, dense: a Llama with a factor at every turn.
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
                // Without it GGUF files mean the usual scale, and config.json none.
                const double scale = fields.is_gguf() ? static_cast<double>(config.scale()) : 1.0;
                config.attention_scale = positive(fields, {"attention.scale", "attention_multiplier"}, scale);
                config.logit_factor = 1.0f / positive(fields, {"logit_scale", "logits_scaling"}, 1);
            },
        .kv_heads_optional = true,
    };
    return family;
}

} // namespace palimpsest::engine
