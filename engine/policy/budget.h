// Axis A: how many entries each list may hold (policies.md, 2).
#pragma once

#include <cstdint>

namespace palimpsest::engine {

// One size for every list. Unlimited keeps everything; its size is then what storage was allocated for.
struct ListBudget {
    int32_t size = 0;
    bool bounded = true;

    static ListBudget uniform(int32_t size) { return {.size = size, .bounded = true}; }
    static ListBudget unlimited(int32_t capacity) { return {.size = capacity, .bounded = false}; }
    int32_t of(int32_t /*layer*/, int32_t /*head*/) const { return size; }
};

} // namespace palimpsest::engine
