#include "engine/model/families/qwen.h"

namespace palimpsest::engine {

// Qwen3, dense: a norm on every query and key head, and no biases by default.
const Family& qwen3_family()
{
    static const Family family = {
        .architecture = "qwen3",
        .classes = {"Qwen3ForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                config.head_norm = HeadNorm::PerHead;
                config.qkv_bias = fields.boolean({nullptr, "attention_bias"}).value_or(false);
                read_windows_of_qwen(fields, config);
            },
        .defaults = {{"head_dim", 128}},
    };
    return family;
}

} // namespace palimpsest::engine
