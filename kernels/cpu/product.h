// What every form of a matrix product (gemv, gemm, fixed_point_gemm) is asked to do.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/cpu_weight.h"

namespace palimpsest::kernels::cpu {

// The rows of the left operand, made one at a time from activations in memory.
struct RowSource {
    const float* x = nullptr; // [rows, cols], or [rows, 2 * cols] if gated
    int64_t rows = 0;
    int64_t cols = 0;
    RmsNorm norm{};     // of the row; not together with `gated`
    bool gated = false; // the row is activation(first half of x) * second half
    Activation activation = Activation::Silu;

    bool is_plain() const { return norm.weight == nullptr && !gated; }
    const float* in_memory(int64_t r) const { return x + r * cols; } // REQUIRES: is_plain()
    void make(int64_t r, float* to) const;                           // to [cols]
};

// y = rows W^T + bias, or y += with `accumulate`.
struct Product {
    RowSource x;
    const CpuWeight* weight = nullptr;
    const float* bias = nullptr; // [W.rows] or null
    float* y = nullptr;          // [rows, W.rows]
    bool accumulate = false;
};

// y = bias, or y += bias, for columns [n, n + columns).
void put_bias(const Product& product, int64_t n, int64_t columns); // linear.cpp

// gemv where a token is decoded, else fixed_point_gemm where it takes the product, else gemm.
void multiply(const Product& product, Phase phase, CpuContext& context); // linear.cpp

} // namespace palimpsest::kernels::cpu
