#include "engine/model/families/qwen.h"

namespace palimpsest::engine {

void read_windows_of_qwen(const ConfigFields& fields, ModelConfig& config)
{
    if (!fields.boolean({nullptr, "use_sliding_window"}).value_or(false)) return;
    read_windows(fields, config, 0);
    if (fields.listed_windows(config.layers)) return;
    const uint64_t first = fields.integer({nullptr, "max_window_layers"}).value_or(28);
    for (size_t l = 0; l < config.plans.size() && l < first; ++l)
        config.plans[l] = {};
}

} // namespace palimpsest::engine
