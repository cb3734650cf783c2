// The arguments of a matrix product, shared by gemm and gemv, and loads of its rows.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/linear/cuda_weight.h"

namespace palimpsest::kernels::cuda {

// The rows of the left operand, computed from activations in memory.
struct RowSource {
    const float* x = nullptr; // [rows, cols], or [rows, 2 * cols] if gated
    int64_t rows = 0;
    int64_t cols = 0;
    RmsNorm norm{};     // over the row; REQUIRES: not together with `gated`
    bool gated = false; // the row is activation(first half of x) * second half
    Activation activation = Activation::Silu;
};

// y = rows W^T + bias, or y += with `accumulate`.
struct Product {
    RowSource x;
    const CudaWeight* weight = nullptr;
    const float* bias = nullptr; // [W.rows] or null
    float* y = nullptr;          // [rows, W.rows]
    bool accumulate = false;
};

inline const CudaWeight& on_cuda(const Weight* weight)
{
    return static_cast<const CudaWeight&>(*weight);
}

// True if every row of `cols` elements can be read with aligned float4 loads.
inline bool in_fours(const float* rows, int64_t cols)
{
    return reinterpret_cast<uintptr_t>(rows) % sizeof(float4) == 0 && cols % 4 == 0;
}

// Elements k to k + 3 of a row; zero for k >= cols.
__device__ inline float4 four_of(const float* row, int64_t k, int64_t cols, bool aligned)
{
    if (aligned && k + 4 <= cols) return *reinterpret_cast<const float4*>(row + k);
    return {k < cols ? row[k] : 0.0f, k + 1 < cols ? row[k + 1] : 0.0f, k + 2 < cols ? row[k + 2] : 0.0f,
            k + 3 < cols ? row[k + 3] : 0.0f};
}

__device__ inline float4 times(float4 x, float4 y)
{
    return {x.x * y.x, x.y * y.y, x.z * y.z, x.w * y.w};
}

__device__ inline float4 times(float4 x, float factor)
{
    return {x.x * factor, x.y * factor, x.z * factor, x.w * factor};
}

__device__ inline float sum_of_squares(float4 x)
{
    return fmaf(x.x, x.x, x.y * x.y) + fmaf(x.z, x.z, x.w * x.w);
}

// Root mean square normalisation (Zhang, Sennrich 2019, eq. 4), without the factor of the weight.
__device__ inline float norm_factor(float squares, int64_t cols, float epsilon)
{
    return 1.0f / sqrtf(squares / static_cast<float>(cols) + epsilon);
}

// For very negative g the exponential is infinite and the quotient -0. GELU uses its tanh approximation
// (Hendrycks, Gimpel 2016, section 2): 0.5 (1 + tanh u) = 1 / (1 + e^-2u) with u = sqrt(2 / pi) (g + 0.044715
// g^3).
__device__ inline float activated(Activation activation, float g)
{
    if (activation == Activation::Silu) return g / (1.0f + expf(-g));
    constexpr float minus_two_root = -1.5957691216057308f; // -2 sqrt(2 / pi)
    return g / (1.0f + expf(minus_two_root * (g * fmaf(0.044715f, g * g, 1.0f))));
}

} // namespace palimpsest::kernels::cuda
