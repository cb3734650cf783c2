// Memory that may still be taken.
#pragma once

#include <cstdint>

#include "engine/model/model.h"

namespace palimpsest::ui {

// What the system could give without swapping, in bytes. UINT64_MAX: not known.
uint64_t memory_of_machine();
// Where the model computes: of its device, or of this machine.
uint64_t memory_left(const engine::Model& model);

} // namespace palimpsest::ui
