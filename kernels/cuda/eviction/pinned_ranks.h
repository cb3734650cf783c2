// Ranks of a list's entries when the entry numbers skip its pinned tokens (kernels/eviction.h).
#pragma once

#include "kernels/cuda/device/device.h"
#include "kernels/eviction.h"

namespace palimpsest::kernels::cuda {

// Binary search. Cost: logarithmic in the number of pinned tokens.
__device__ inline int64_t rank_of_entry(const PinnedRanks& pinned, int64_t head, int64_t entry)
{
    if (pinned.ranks == nullptr) return entry;
    const uint32_t* ranks = pinned.ranks + head * pinned.stride;
    uint32_t before = 0; // pinned tokens before the entry
    for (uint32_t end = pinned.held[head]; before < end;) {
        const uint32_t middle = (before + end) / 2;
        if (ranks[middle] - middle <= entry)
            before = middle + 1;
        else
            end = middle;
    }
    return entry + before;
}

} // namespace palimpsest::kernels::cuda
