// Weights in device memory, in planes that load in whole vectors (performance.md, 3).
#pragma once

#include <cstdint>

#include "kernels/backend.h"

namespace palimpsest::kernels::cuda {

// F32, F16, BF16: `values` is [rows, cols] of that type. Q8_0: `values` is int8 [rows, cols], `scales` f16
// [rows, cols / 32]. Rotary pairs are half-split already. Every row starts at a multiple of 16 bytes: cols is a
// multiple of 8 or rows are padded to `stride` elements (scales: stride / 32).
struct WeightPlanes {
    DType type = DType::F32;
    const void* values = nullptr;
    const uint16_t* scales = nullptr;
    int64_t rows = 0, cols = 0;
    int64_t stride = 0; // elements from row to row, a multiple of 32
};

// One stretch of rows for each part; parts of a Weight may have different types.
class CudaWeight : public Weight {
public:
    virtual std::span<const WeightPlanes> parts() const = 0;
};

} // namespace palimpsest::kernels::cuda
