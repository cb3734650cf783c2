// Converts rows of elements of any type to f32, and f32 to the types that activations and the KV cache have.
#pragma once

#include <cstdint>

#include "kernels/base/dtype.h"

namespace palimpsest::kernels {

// Converts `count` elements to f32, starting at a block boundary.
void to_f32(DType type, const void* from, float* to, int64_t count);
// Converts to F32, F16, BF16 or Q8_0. In Q8_0, the scale of a block is max |x| / 127 as f16, and each byte is
// x / scale, rounded to nearest (ties to even) and clamped to [-127, 127]. If a block contains a non-finite value,
// or if its scale overflows f16 (magnitudes from about 8.3 million), the scale is NaN, so that the block reads as
// NaN and never as smaller values. REQUIRES: `type` is one of these four, and count is a whole number of blocks.
void from_f32(DType type, const float* from, void* to, int64_t count);
// The f16 scale of a Q8_0 block, from the bits of the block's largest magnitude; see from_f32.
uint16_t q8_scale(uint32_t largest);

} // namespace palimpsest::kernels
