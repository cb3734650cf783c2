// The end of a product's rows (RowFinish in backend.h).
#pragma once

#include "kernels/cuda/product.h"

namespace palimpsest::kernels::cuda {

// The product by gemv where a token is decoded, else by gemm, and what `finish` makes of its rows. A product that
// is added and not plain goes through ScratchUse::Unfinished.
void multiply_and_finish(Product product, const RowFinish& finish, Phase phase, CudaContext& context);

} // namespace palimpsest::kernels::cuda
