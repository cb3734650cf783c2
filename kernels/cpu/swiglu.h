// The gate of a feed-forward layer, SwiGLU (Shazeer 2020, eq. 6, without biases).
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// y[i] = silu(gate[i]) * up[i], silu(g) = g / (1 + e^-g), for one row of `count`. y must not overlap the inputs.
void swiglu(const float* gate, const float* up, int64_t count, float* y);

} // namespace palimpsest::kernels::cpu
