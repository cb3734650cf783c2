#include "engine/model/families/qwen.h"

namespace palimpsest::engine {

// Qwen2 and Qwen2.5: biases of queries, keys and values. A window is used only where the file switches it on, and
// then from layer max_window_layers on.
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
