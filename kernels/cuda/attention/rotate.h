// RoPE in device code. Pairs are half-split: (i, i + rotary_dim / 2).
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

// Returns element i of a row rotated to `position`; x(i) is element i before the rotation.
template<class Elements>
__device__ inline float rotated(const RopeTable& table, int64_t position, int32_t i, Elements&& x)
{
    if (i >= table.rotary_dim) return x(i);
    const int32_t half = table.rotary_dim / 2, pair = i < half ? i : i - half;
    const float cosine = table.cos_sin[position * table.rotary_dim + pair];
    const float sine = table.cos_sin[position * table.rotary_dim + half + pair];
    return i < half ? fmaf(-x(i + half), sine, x(i) * cosine) : fmaf(x(pair), sine, x(i) * cosine);
}

} // namespace palimpsest::kernels::cuda
