// Reductions and prefix sums over a whole block, in a fixed order. Every thread of the block must take part, and
// receives the result.
#pragma once

#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

// Combines the values of all threads. REQUIRES: a block of `threads`, a power of two.
template<int threads, class T, class Combine>
__device__ inline T block_reduce(T x, Combine&& combine)
{
    __shared__ T parts[threads];
    const auto self = static_cast<int>(threadIdx.x);
    parts[self] = x;
    __syncthreads();
    for (int reach = threads / 2; reach > 0; reach /= 2) {
        if (self < reach) parts[self] = combine(parts[self], parts[self + reach]);
        __syncthreads();
    }
    const T all = parts[0];
    __syncthreads(); // the next call writes the same memory
    return all;
}

template<int threads, class T>
__device__ inline T block_sum(T x)
{
    return block_reduce<threads>(x, [](T a, T b) { return a + b; });
}

template<int threads>
__device__ inline float block_max(float x)
{
    return block_reduce<threads>(x, [](float a, float b) { return fmaxf(a, b); });
}

// Exclusive prefix sum over the threads of the block; *all receives the total. REQUIRES: a block of `threads`,
// whole warps.
template<int threads>
__device__ inline uint32_t block_sum_before(uint32_t x, uint32_t* all = nullptr)
{
    constexpr int warps = threads / warp_lanes;
    __shared__ uint32_t of_warps[warps];
    const auto self = static_cast<int>(threadIdx.x), lane = self % warp_lanes;
    uint32_t upto = x;
    for (int reach = 1; reach < warp_lanes; reach *= 2) {
        const uint32_t before = __shfl_up_sync(all_lanes, upto, static_cast<unsigned>(reach));
        if (lane >= reach) upto += before;
    }
    if (lane == warp_lanes - 1) of_warps[self / warp_lanes] = upto;
    __syncthreads();
    uint32_t before_warp = 0, sum = 0;
    for (int warp = 0; warp < warps; ++warp) {
        if (warp == self / warp_lanes) before_warp = sum;
        sum += of_warps[warp];
    }
    __syncthreads(); // the next call writes the same memory
    if (all) *all = sum;
    return before_warp + upto - x;
}

} // namespace palimpsest::kernels::cuda
