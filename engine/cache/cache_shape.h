// The sizes and modes that a cache and its lists are built for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::engine {

struct CacheShape {
    int32_t layers = 0;
    kernels::HeadShape heads;
    kernels::DType type = kernels::DType::F16;
    kernels::DType wide = kernels::DType::F16; // staging type of a quantised cache: F16 or BF16
    int32_t staged_rows = 1;                   // rows the staging buffer holds
    bool stage_every_layer = false;            // for policies that evict after all layers
    bool with_signals = false;                 // tokens have sums and counts (TokenList)
    int32_t moments_each = 0;                  // how many numbers TokenList::moments has per token; 0: none
    std::vector<int32_t> list_budget;          // [layers, kv_heads] limit: most tokens in a list after eviction
    int64_t total_slots = 0;                   // most tokens in all lists together after eviction
    // Device-resident. REQUIRES: Backend::selects(), and total_slots is the sum of list_budget.
    bool resident = false;
    int32_t rows_at_once = 1; // rows of a super-chunk; a device-resident cache syncs once per super-chunk

    // The index of a list in [layers, kv_heads].
    size_t list_at(int32_t layer, int32_t head) const
    {
        return static_cast<size_t>(layer) * static_cast<size_t>(heads.kv_heads) + static_cast<size_t>(head);
    }
};

int64_t slots_of_limits(const CacheShape& shape); // the sum of list_budget
// The most tokens a list may hold while a chunk is computed: the largest limit, plus the rows of the staging buffer
// (chunk and question rows).
int64_t longest_with_chunk(const CacheShape& shape);

} // namespace palimpsest::engine
