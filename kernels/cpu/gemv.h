// Matrix product of one row, or very few (decode): reads every weight once per row, in place, at memory
// bandwidth.
// Activations stay f32 or become 24-bit fixed-point numbers, so that the only error is rounding. Bits do not depend
// on the number of threads, but differ from those of prefill.
#pragma once

#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/product.h"

namespace palimpsest::kernels::cpu {

void gemv(const Product& product, CpuContext& context);

// Whether this processor, on the SIMD target in use, supports products in fixed point (base/fixed_point_types.h).
bool multiplies_in_fixed_point();

} // namespace palimpsest::kernels::cpu
