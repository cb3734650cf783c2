// Protection: the first and last entries of a list, which no selection evicts.
#pragma once

#include <cstdint>

namespace palimpsest::engine {

struct ProtectedEnds {
    int32_t sinks = 0;  // lowest ranks
    int32_t recent = 0; // highest ranks

    // Slots m that a budget leaves between the two ends; negative if these alone exceed it.
    int64_t slots(int32_t budget) const { return int64_t{budget} - sinks - recent; }
};

} // namespace palimpsest::engine
