// Applies RowFinish (backend.h) to the rows of a product.
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"

namespace palimpsest::kernels::cpu {

// Finishes `product` [rows, cols] in place if `sum` is null. Otherwise adds the finished rows to `sum` [rows, cols]
// and leaves the product undefined. The bits of a row depend neither on the other rows nor on the number of
// threads.
void finish_rows(const RowFinish& finish, float* product, int64_t rows, int64_t cols, float* sum,
                 CpuContext& context);

} // namespace palimpsest::kernels::cpu
