#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Llama 2, 3, 3.1 and 3.2, TinyLlama, SmolLM2; as GGUF files also Mistral and Mixtral.
const Family& llama_family()
{
    static const Family family = {
        .architecture = "llama",
        .classes = {"LlamaForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                config.paired_rotary = fields.is_gguf();
                config.qkv_bias = fields.boolean({nullptr, "attention_bias"}).value_or(false);
                if (!fields.is_gguf()) return; // transformers ignores a window in the config.json of a Llama
                read_windows(fields, config, 0);
                read_experts(fields, config, {"expert_count", nullptr}, {"expert_used_count", nullptr});
            },
        .kv_heads_optional = true,
    };
    return family;
}

} // namespace palimpsest::engine
