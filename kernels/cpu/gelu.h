// The Gaussian error linear unit (Hendrycks, Gimpel 2016, section 2), with the error function itself.
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// x[i] becomes x[i] (1 + erf(x[i] / sqrt 2)) / 2, for `count` elements. The error is at most 3e-7 |x[i]|.
void gelu(float* x, int64_t count);

} // namespace palimpsest::kernels::cpu
