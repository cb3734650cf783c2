// Available memory.
#pragma once

#include <cstdint>

#include "engine/model/model.h"

namespace palimpsest::ui {

// Bytes that the system can provide without swapping (MemAvailable); UINT64_MAX if unknown.
uint64_t memory_of_machine();
// Available memory of the model's device; for a CPU that of the machine.
uint64_t memory_left(const engine::Model& model);

} // namespace palimpsest::ui
