// The Gini coefficient of a row (RowStatistic::Gini), by one block that sorts the row.
#pragma once

#include <bit>

#include "kernels/cuda/device/block_select.h"

namespace palimpsest::kernels::cuda {

// The size of the buffer that gini_of needs for a row of `ranks` floats.
inline int64_t gini_floats(int64_t ranks)
{
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(ranks)));
}

// Sorts ascending, by Batcher's bitonic network. All threads of the block call together. REQUIRES: `count` is a
// power of two; a __syncthreads() since `a` was written.
template<int threads>
__device__ inline void sort_row(float* a, int64_t count)
{
    for (int64_t run = 2; run <= count; run *= 2) {
        for (int64_t reach = run / 2; reach > 0; reach /= 2) {
            for (int64_t i = threadIdx.x; i < count / 2; i += threads) {
                const int64_t low = i / reach * 2 * reach + i % reach, high = low + reach;
                const bool ascending = (low & run) == 0;
                const float x = a[low], y = a[high];
                if ((x > y) != ascending) continue;
                a[low] = y;
                a[high] = x;
            }
            __syncthreads();
        }
    }
}

// Returns the Gini coefficient of a[0, ranks) to every thread, and sorts `a`, which has room for
// gini_floats(ranks).
template<int threads>
__device__ inline float gini_of(float* a, int64_t ranks)
{
    int64_t padded = 1;
    while (padded < ranks)
        padded *= 2;
    for (int64_t i = ranks + threadIdx.x; i < padded; i += threads)
        a[i] = __uint_as_float(0x7f800000u);
    __syncthreads();
    sort_row<threads>(a, padded);
    double weighted = 0, total = 0;
    for (int64_t i = threadIdx.x; i < ranks; i += threads) {
        weighted = fma(static_cast<double>(2 * i + 1 - ranks), static_cast<double>(a[i]), weighted);
        total += static_cast<double>(a[i]);
    }
    weighted = block_sum<threads>(weighted);
    total = block_sum<threads>(total);
    return static_cast<float>(weighted / (static_cast<double>(ranks) * total));
}

} // namespace palimpsest::kernels::cuda
