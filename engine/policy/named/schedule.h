// The schedule: when lists are cut back to their budgets.
#pragma once

#include <cstdint>

#include "engine/policy/named/parameters.h"

namespace palimpsest::engine {

// All lists are cut as soon as one exceeds its budget by `excess` entries; 1 means after every chunk. A larger
// excess evicts in fewer, larger steps and needs that many more slots.
struct EvictionSchedule {
    int32_t excess = 1;
    bool once = false; // a single eviction, at the end of the first prefill
};

ParameterInfo schedule_info();

// Reads the key `schedule`, which every policy accepts. Throws Error (Usage).
EvictionSchedule read_schedule(PolicyParameters& parameters);

} // namespace palimpsest::engine
