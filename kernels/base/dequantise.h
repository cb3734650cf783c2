// Quantised blocks to f32, one element at a time: the definition that the kernels of every backend agree with bit
// for bit. It is that of the `gguf` Python package.
#pragma once

#include <cstdint>

#include "kernels/base/dtype.h"

namespace palimpsest::kernels {

// The factor of an MXFP4 block: 2^(exponent - 128), subnormal below 2.
float mxfp4_scale(uint8_t exponent);

// Elements [0, count) from the start of a block on. REQUIRES: info(type).block > 1.
void dequantise(DType type, const void* from, float* to, int64_t count);

} // namespace palimpsest::kernels
