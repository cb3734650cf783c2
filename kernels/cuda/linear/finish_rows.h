// Applies a RowFinish (backend.h) to the rows of a product.
#pragma once

#include "kernels/cuda/linear/product.h"

namespace palimpsest::kernels::cuda {

// Computes the product, by gemv in decode and by gemm in prefill, and applies `finish` to its rows. If the product
// is accumulated and `finish` is not plain, it is computed in ScratchUse::Unfinished first.
void multiply_and_finish(Product product, const RowFinish& finish, Phase phase, CudaContext& context);

} // namespace palimpsest::kernels::cuda
