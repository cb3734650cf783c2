// Matrix product of one row, or very few (decode). Reads every weight once, in its stored type; memory bandwidth
// is the limit. Activations stay f32, so the only error is rounding. y is [rows, W.rows]. One warp computes one or
// two neighbours in a row of y; the order of each sum depends only on W's type and width. The bits differ from
// gemm's.
#pragma once

#include "kernels/cuda/linear/product.h"

namespace palimpsest::kernels::cuda {

// REQUIRES: the source is not gated.
void gemv(const Product& product, CudaContext& context);

// hidden[r][i] = activation(g_i) * u_i with (g, u) = row r of the source times gate_up^T; hidden is [rows, W.rows
// / 2]. Returns false, and computes nothing, if the weight's parts differ in type or are more than most_parts.
bool gated_gemv(const RowSource& x, const CudaWeight& gate_up, Activation activation, float* hidden,
                CudaContext& context);

} // namespace palimpsest::kernels::cuda
