// Floats as unsigned integers that compare in the same order.
#pragma once

#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

// The integers have the order of the floats; both zeros map to the same integer.
__device__ inline uint32_t ordered_bits(float x)
{
    const uint32_t bits = __float_as_uint(x + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

} // namespace palimpsest::kernels::cuda
