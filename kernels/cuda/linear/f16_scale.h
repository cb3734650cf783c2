// The powers of two that scale rows into the range of f16 (operand.h).
#pragma once

#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

struct PowerOfTwo {
    float factor, inverse;
};

// The power of two that scales `largest` into [2^14, 2^15), as far as the range of float allows.
__device__ inline PowerOfTwo f16_scale(float largest)
{
    const int exponent = static_cast<int>(__float_as_uint(largest) >> 23 & 0xff) - 127;
    const int shift = 14 - (exponent < -100 ? -100 : exponent);
    return {__uint_as_float(static_cast<uint32_t>(127 + shift) << 23),
            __uint_as_float(static_cast<uint32_t>(127 - shift) << 23)};
}

} // namespace palimpsest::kernels::cuda
