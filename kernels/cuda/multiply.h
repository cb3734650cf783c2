// The product of two operands: the own kernels behind gemm.
#pragma once

#include "kernels/cuda/cuda_context.h"
#include "kernels/cuda/operand.h"

namespace palimpsest::kernels::cuda {

// Where a product goes: columns of a wider matrix.
struct ProductRows {
    float* y = nullptr; // [a.rows, stride], from the first column of the product
    int64_t stride = 0;
    const float* bias = nullptr; // [b.rows] or null
    bool accumulate = false;
};

// y = a b^T + bias, or y +=. REQUIRES: the operands have one type and one width.
void multiply(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context);

// A product of the operands' values, made elsewhere.
struct PlainProduct {
    const float* values = nullptr; // [a.rows, stride]
    int64_t stride = 0;
};

// The last step of multiply: y = product times the operands' scales + bias, or y +=. The product may lie in y where
// nothing accumulates.
void finish(const Operand& a, const Operand& b, const ProductRows& to, const PlainProduct& product,
            CudaContext& context);

} // namespace palimpsest::kernels::cuda
