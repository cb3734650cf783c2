// Protection: the first and last entries of a list, which no selection evicts.
#pragma once

#include <cstdint>

namespace palimpsest::engine {

struct ProtectedEnds {
    int32_t sinks = 0;  // lowest ranks
    int32_t recent = 0; // highest ranks

    // Slots m of a budget beside the ends; negative if the ends alone exceed it.
    int64_t slots(int32_t budget) const { return int64_t{budget} - sinks - recent; }
};

} // namespace palimpsest::engine
