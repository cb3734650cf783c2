// Root mean square normalisation (Zhang, Sennrich 2019, eq. 4).
#pragma once

#include <cstdint>

#include "kernels/backend.h"

namespace palimpsest::kernels::cpu {

// y[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i], for one row of `cols`. y may be x.
void rms_norm(const float* x, const RmsNorm& norm, int64_t cols, float* y);

} // namespace palimpsest::kernels::cpu
