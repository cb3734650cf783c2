// Axis F: when a list goes back to its budget (policies.md, 1, "Schedule").
#pragma once

#include <cstdint>

#include "engine/policy/parameters.h"

namespace palimpsest::engine {

// All lists are cut as soon as one holds `excess` entries more than its budget: 1 is after every chunk. A larger
// excess evicts in fewer, larger steps and needs that much more storage.
struct EvictionSchedule {
    int32_t excess = 1;
    bool once = false; // one eviction after the last chunk of the first reading, and none before or after
};

ParameterInfo schedule_info();

// The key `schedule`, which every policy takes. Throws Error (Usage).
EvictionSchedule read_schedule(PolicyParameters& parameters);

} // namespace palimpsest::engine
