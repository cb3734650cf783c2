// Matrix product of many rows (prefill), on tensor cores but for F32 weights. Bits of a row do not depend on the
// other rows.
//
// Sums are f32. F32 weights are multiplied in f32: the only error is rounding. Others are multiplied with 16-bit
// operands, so that every product x w is off by at most
//     2^-8 |x w|    BF16 weights from sm_80 on: x rounded to bf16
//     2^-10 |x w|   F16, quantised weights, and BF16 on sm_75: x, and a quantised w, rounded to f16
// and a sum over k by at most bound * sum_k |x_k w_k|. Signs are mixed, so that the largest error of a row is
// usually a few times bound / 4 of the root mean square of its results.
#pragma once

#include "kernels/cuda/product.h"

namespace palimpsest::kernels::cuda {

void gemm(const Product& product, CudaContext& context);

} // namespace palimpsest::kernels::cuda
