// Settings shared by all generations of Qwen.
#pragma once

#include "engine/model/families/family.h"

namespace palimpsest::engine {

// A window is used only if config.json enables it, and then from layer max_window_layers on, unless the file lists
// the layers.
void read_windows_of_qwen(const ConfigFields& fields, ModelConfig& config);

} // namespace palimpsest::engine
