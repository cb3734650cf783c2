#include "engine/model/families/qwen.h"

namespace palimpsest::engine {

// Qwen2 and Qwen2.5: biases on queries, keys and values.
const Family& qwen2_family()
{
    static const Family family = {
        .architecture = "qwen2",
        .classes = {"Qwen2ForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                config.qkv_bias = true;
                read_windows_of_qwen(fields, config);
            },
    };
    return family;
}

} // namespace palimpsest::engine
