// The end of a product's rows (RowFinish in backend.h).
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"

namespace palimpsest::kernels::cpu {

// Finishes `product` [rows, cols] in place, or adds what comes out to `sum` [rows, cols] unless that is null, and
// leaves the product undefined. Bits of a row depend neither on the other rows nor on the number of threads.
void finish_rows(const RowFinish& finish, float* product, int64_t rows, int64_t cols, float* sum,
                 CpuContext& context);

} // namespace palimpsest::kernels::cpu
