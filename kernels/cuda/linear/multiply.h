// The product of two operands by this backend's own kernels; gemm uses them where cuBLASLt does not compute it.
#pragma once

#include "kernels/cuda/device/cuda_context.h"
#include "kernels/cuda/linear/operand.h"

namespace palimpsest::kernels::cuda {

// Destination of a product: a range of columns of a wider matrix.
struct ProductRows {
    float* y = nullptr; // [a.rows, stride]; points to the product's first column
    int64_t stride = 0;
    const float* bias = nullptr; // [b.rows] or null
    bool accumulate = false;
};

// y = a b^T + bias, or y += with `accumulate`. a: rows of activations; b: rows of the weight. REQUIRES: both
// operands have the same type and the same number of columns.
void multiply(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context);

// A product of the operands' values, computed elsewhere, without scales and bias.
struct PlainProduct {
    const float* values = nullptr; // [a.rows, stride]
    int64_t stride = 0;
};

// The last step of multiply: y = product times the operands' scales + bias, or y +=. The product may alias y
// unless `accumulate` is set.
void finish(const Operand& a, const Operand& b, const ProductRows& to, const PlainProduct& product,
            CudaContext& context);

} // namespace palimpsest::kernels::cuda
