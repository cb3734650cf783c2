#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Mistral 7B, Nemo and Small as safetensors files. A config.json without 'sliding_window' means 4096, the window of
// version 0.1.
const Family& mistral_family()
{
    static const Family family = {
        .architecture = "llama",
        .classes = {"MistralForCausalLM"},
        .describe = [](const ConfigFields& fields, ModelConfig& config) { read_windows(fields, config, 0); },
        .defaults = {{"sliding_window", 4096}},
    };
    return family;
}

} // namespace palimpsest::engine
