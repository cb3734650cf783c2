// The settings that all generations of Qwen share.
#pragma once

#include "engine/model/families/family.h"

namespace palimpsest::engine {

// A window is used only where config.json switches it on, and then from layer max_window_layers on, unless the
// layers are listed.
void read_windows_of_qwen(const ConfigFields& fields, ModelConfig& config);

} // namespace palimpsest::engine
