// Layer normalisation (Ba, Kiros, Hinton 2016, eq. 3).
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

struct LayerNorm {
    const float* weight = nullptr; // [cols]
    const float* bias = nullptr;   // [cols]
    float epsilon = 1e-12f;
};

// x[i] becomes (x[i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i], for one row of `cols`.
void layer_norm(const LayerNorm& norm, float* x, int64_t cols);

} // namespace palimpsest::kernels::cpu
