// The arguments of a matrix product, common to gemv, gemm and fixed_point_gemm.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/cpu_weight.h"

namespace palimpsest::kernels::cpu {

// The rows of the left operand, computed one at a time from activations in memory.
struct RowSource {
    const float* x = nullptr; // [rows, cols], or [rows, 2 * cols] if gated
    int64_t rows = 0;
    int64_t cols = 0;
    RmsNorm norm{};     // of the row; not combined with `gated`
    bool gated = false; // the row is activation(first half of x) * second half
    Activation activation = Activation::Silu;

    bool is_plain() const { return norm.weight == nullptr && !gated; }
    const float* in_memory(int64_t r) const { return x + r * cols; } // REQUIRES: is_plain()
    void make(int64_t r, float* to) const;                           // to [cols]
};

// y = x W^T + bias or, with `accumulate`, y += x W^T + bias.
struct Product {
    RowSource x;
    const CpuWeight* weight = nullptr;
    const float* bias = nullptr; // [W.rows] or null
    float* y = nullptr;          // [rows, W.rows]
    bool accumulate = false;
};

// y = bias, or y += bias with `accumulate`, for columns [n, n + columns).
void put_bias(const Product& product, int64_t n, int64_t columns); // linear.cpp

// Calls gemv for decode; for prefill fixed_point_gemm if it supports the product, else gemm.
void multiply(const Product& product, Phase phase, CpuContext& context); // linear.cpp

} // namespace palimpsest::kernels::cpu
