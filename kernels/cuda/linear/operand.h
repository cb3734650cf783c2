// Operands of the prefill products: matrices of F32, or of 16-bit elements for the tensor cores.
//
// f16 covers only 6e-8 to 65504. A row in f16 is therefore stored times a power of two that scales its largest
// element into [2^14, 2^15), and the product is multiplied by the inverse. Large elements do not overflow, small
// rows lose no bits, and a row's numbers depend on that row alone.
#pragma once

#include <cstdint>

#include "kernels/base/dtype.h"

namespace palimpsest::kernels::cuda {

// Element k of row r is values[r * stride + k] * scales[r].
struct Operand {
    DType type = DType::F32;       // F32, F16 or BF16
    const void* values = nullptr;  // [rows, stride]; 16-bit rows: zero from `cols` to the next multiple of 32
    const float* scales = nullptr; // [rows], powers of two; null: all are 1
    int64_t rows = 0, cols = 0;
    int64_t stride = 0; // elements from row to row; 16-bit elements: a multiple of 32
};

// Elements that one step of a 16-bit product reads from each row.
inline constexpr int64_t operand_step = 32;

inline int64_t operand_stride(int64_t cols)
{
    return (cols + operand_step - 1) / operand_step * operand_step;
}

} // namespace palimpsest::kernels::cuda
