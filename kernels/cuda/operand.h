// Operands of the prefill products: matrices of F32, or of 16-bit elements that tensor cores multiply.
//
// f16 reaches from 6e-8 to 65504 only. A row in f16 is therefore stored times a power of two that brings its
// largest element into [2^14, 2^15), and the product is multiplied by what undoes it (performance.md, 4.3). So
// neither outliers overflow nor small rows lose bits, and a row's numbers depend on the row alone.
#pragma once

#include <cstdint>

#include "kernels/base/dtype.h"

namespace palimpsest::kernels::cuda {

// Element k of row r is values[r * stride + k] * scales[r].
struct Operand {
    DType type = DType::F32;       // F32, F16 or BF16
    const void* values = nullptr;  // [rows, stride]; 16-bit rows are zero from `cols` to the next multiple of 32
    const float* scales = nullptr; // [rows], powers of two; null: all are one
    int64_t rows = 0, cols = 0;
    int64_t stride = 0; // of 16-bit elements: a multiple of 32
};

// Elements that one step of a 16-bit product takes from each row.
inline constexpr int64_t operand_step = 32;

inline int64_t operand_stride(int64_t cols)
{
    return (cols + operand_step - 1) / operand_step * operand_step;
}

} // namespace palimpsest::kernels::cuda
