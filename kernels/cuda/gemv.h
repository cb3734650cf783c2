// Matrix product of one row, or very few (decode): reads every weight once, as its plane has it, at the speed of
// the memory. Activations stay f32, so the only error is rounding. A row of y is summed by one warp in an order
// that only its type and width decide. Bits differ from gemm's.
#pragma once

#include "kernels/cuda/product.h"

namespace palimpsest::kernels::cuda {

// REQUIRES: the source is not gated.
void gemv(const Product& product, CudaContext& context);

// hidden[r][i] = activation(g_i) * u_i with (g, u) = row r of the source times gate_up^T; hidden is [rows, W.rows /
// 2]. False, with nothing done, if the parts of the weight differ in type.
bool gated_gemv(const RowSource& x, const CudaWeight& gate_up, Activation activation, float* hidden,
                CudaContext& context);

} // namespace palimpsest::kernels::cuda
