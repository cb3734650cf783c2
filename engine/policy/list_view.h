// A list as a policy sees it: without its pinned entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/policy/policy.h"

namespace palimpsest::engine {

struct ListView {
    ListState list;
    std::span<const uint32_t> ranks{}; // ranks of the unpinned entries; empty if there are no pins: entry = rank
    uint32_t size = 0;                 // unpinned entries
    uint32_t missing_pins = 0;         // pinned tokens that are not in the list; other entries may use their slots

    size_t rank(size_t entry) const { return ranks.empty() ? entry : ranks[entry]; }
};

} // namespace palimpsest::engine
