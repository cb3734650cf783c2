// The order-list index at which a dropped row ends up among the free rows.
#pragma once

#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

// Returns where the row of dropped[i] goes, as in drop_head (kernels/cpu/kv_rows.cpp), so that every backend has
// equal order lists: the dropped rows form a block, and every kept row behind the block swaps with the first row of
// the block. While the block has j + 1 rows, the dropped row at index p that is swapped moves to p + j + 1.
__device__ inline int64_t freed_row_index(const uint32_t* dropped, int32_t count, int32_t used, int32_t i)
{
    int64_t place = dropped[i];
    for (int64_t j = i; j < count; ++j) {
        const int64_t end = (j + 1 < count ? static_cast<int64_t>(dropped[j + 1]) : used) - (j + 1);
        if (place < end) place += (end - place + j) / (j + 1) * (j + 1);
    }
    return place;
}

} // namespace palimpsest::kernels::cuda
