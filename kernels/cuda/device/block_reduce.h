// Sums and maxima of floats over a block, by shuffles, in a fixed order. The block may have any number of whole
// warps; block_select.h has the general reductions. Every thread must call, and receives the result.
#pragma once

#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

// Combines the warps' results in order. REQUIRES: `combine` also made `of_warp` from the lanes.
template<class Combine>
__device__ inline float combine_warps(float of_warp, Combine combine)
{
    __shared__ float of_warps[warp_lanes];
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes, warps = static_cast<int>(blockDim.x) / warp_lanes;
    __syncthreads();
    if (threadIdx.x % warp_lanes == 0) of_warps[warp] = of_warp;
    __syncthreads();
    float all = of_warps[0];
    for (int w = 1; w < warps; ++w)
        all = combine(all, of_warps[w]);
    return all;
}

__device__ inline float block_sum(float x)
{
    return combine_warps(warp_sum(x), [](float a, float b) { return a + b; });
}

__device__ inline float block_max(float x)
{
    return combine_warps(warp_max(x), [](float a, float b) { return fmaxf(a, b); });
}

} // namespace palimpsest::kernels::cuda
