// The product of two operands: the own kernels behind gemm.
#pragma once

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

// The last step of multiply, for a product made elsewhere: y = product[r][n] * a.scales[r] * b.scales[n] + bias[n],
// or y +=; product is [a.rows, b.rows] and may be y where nothing accumulates.
__device__ inline void finish_element(const Operand& a, const Operand& b, const ProductRows& to, int64_t r,
                                      int64_t n, float product)
{
    if (a.scales != nullptr) product *= a.scales[r];
    if (b.scales != nullptr) product *= b.scales[n];
    if (to.bias != nullptr) product += to.bias[n];
    float& y = to.y[r * to.stride + n];
    y = to.accumulate ? y + product : product;
}

} // namespace palimpsest::kernels::cuda
