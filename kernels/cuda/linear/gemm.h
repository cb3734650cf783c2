// Matrix product of many rows (prefill), on tensor cores unless the weight is F32. Tensor-core products use
// cuBLASLt if it is there, else the kernels of multiply.cu. The bits of a row do not depend on the other rows.
//
// Sums are f32. F32 weights are multiplied in f32: the only error is rounding. All other weights are multiplied
// with 16-bit operands, so that the error of a product x w is at most
//     2^-8 |x w|    BF16 weights on sm_80 and later: x is rounded to bf16
//     2^-10 |x w|   F16, quantised weights, and BF16 on sm_75: x, and a quantised w, are rounded to f16
// and the error of a sum over k is at most that bound (2^-8 or 2^-10) times sum_k |x_k w_k|. Rounding errors have
// mixed signs, so a row's largest error is usually a few times bound / 4, relative to the root mean square of the
// row's results.
#pragma once

#include "kernels/cuda/linear/product.h"

namespace palimpsest::kernels::cuda {

void gemm(const Product& product, CudaContext& context);

} // namespace palimpsest::kernels::cuda
