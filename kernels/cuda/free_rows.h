// Where the rows of ranks that leave an order list go.
#pragma once

#include "kernels/cuda/device.h"

namespace palimpsest::kernels::cuda {

// Where dropping one rank after the other would leave the row of dropped[i]. Survivors go before the rows dropped
// so far by changing places with the first of these: while j + 1 are dropped, a row that survivor p takes the place
// of goes to p + j + 1.
__device__ inline int64_t place_behind(const uint32_t* dropped, int32_t count, int32_t used, int32_t i)
{
    int64_t place = dropped[i];
    for (int64_t j = i; j < count; ++j) {
        const int64_t end = (j + 1 < count ? static_cast<int64_t>(dropped[j + 1]) : used) - (j + 1);
        if (place < end) place += (end - place + j) / (j + 1) * (j + 1);
    }
    return place;
}

} // namespace palimpsest::kernels::cuda
