// Converts quantised blocks to f32, one element at a time. This is the definition that the kernels of every backend
// match bit for bit; it agrees with the `gguf` Python package.
#pragma once

#include <cstdint>

#include "kernels/base/dtype.h"

namespace palimpsest::kernels {

// The scale of an MXFP4 block: 2^(exponent - 128), a subnormal number for exponents below 2.
float mxfp4_scale(uint8_t exponent);

// Converts elements [0, count), starting at a block boundary. REQUIRES: info(type).block > 1.
void dequantise(DType type, const void* from, float* to, int64_t count);

} // namespace palimpsest::kernels
