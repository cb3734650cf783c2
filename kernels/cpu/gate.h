// The gate of a feed-forward layer: SwiGLU and GEGLU (Shazeer 2020, eq. 6, without biases).
#pragma once

#include <cstdint>

#include "kernels/backend.h"

namespace palimpsest::kernels::cpu {

// y[i] = activation(gate[i]) * up[i], for one row of `count`. silu(g) = g / (1 + e^-g); gelu in its tanh
// approximation (Hendrycks, Gimpel 2016, section 2). y must not overlap the inputs.
void apply_gate(Activation activation, const float* gate, const float* up, int64_t count, float* y);

} // namespace palimpsest::kernels::cpu
