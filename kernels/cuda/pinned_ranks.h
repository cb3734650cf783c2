// Entries of a list beside its pinned tokens (kernels/eviction.h), and the ranks they have in it.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/eviction.h"

namespace palimpsest::kernels::cuda {

// Cost: the logarithm of the pinned tokens.
__device__ inline int64_t rank_of_entry(const PinnedRanks& pinned, int64_t head, int64_t entry)
{
    if (pinned.ranks == nullptr) return entry;
    const uint32_t* ranks = pinned.ranks + head * pinned.stride;
    uint32_t before = 0; // pinned tokens that stand before the entry
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
