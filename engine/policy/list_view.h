// A list as a policy sees it: without its pinned entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/policy/policy.h"

namespace palimpsest::engine {

struct ListView {
    ListState list;
    std::span<const uint32_t> ranks{}; // of the entries seen; empty: all of the list
    uint32_t size = 0;                 // entries seen
    uint32_t missing_pins = 0;         // pinned tokens that the list does not hold; others stay in their slots

    size_t rank(size_t entry) const { return ranks.empty() ? entry : ranks[entry]; }
};

} // namespace palimpsest::engine
