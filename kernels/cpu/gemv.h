// Matrix product of one row, or very few (decode): reads every weight once, as it lies in the file, at the speed of
// the memory. Activations stay f32, so the only error is rounding. Bits do not depend on the number of threads, but
// differ from gemm's.
#pragma once

#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/product.h"

namespace palimpsest::kernels::cpu {

void gemv(const Product& product, CpuContext& context);

} // namespace palimpsest::kernels::cpu
