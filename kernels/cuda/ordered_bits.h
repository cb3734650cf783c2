// Floats as integers.
#pragma once

#include "kernels/cuda/device.h"

namespace palimpsest::kernels::cuda {

// Ordered as the floats are; both zeros are one.
__device__ inline uint32_t ordered_bits(float x)
{
    const uint32_t bits = __float_as_uint(x + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

} // namespace palimpsest::kernels::cuda
