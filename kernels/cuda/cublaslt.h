// Tensor-core products by cuBLASLt, where the machine has it (performance.md, 4.3).
//
// One algorithm per operand type, width and height of the weight, asked of the library's heuristic for one number
// of rows and kept for every other, without split-K: so bits of a row do not depend on the other rows.
#pragma once

#include "kernels/cuda/multiply.h"

namespace palimpsest::kernels::cuda {

// Bytes of scratch that the library works with on the context's device; 0: none works there.
size_t library_workspace(const CudaContext& context);

// As multiply. False, with nothing done, if there is no library or it has no algorithm for any number of rows; what
// decides it are the weight and the alignment of `to`, never the rows. REQUIRES: 16-bit operands.
bool multiply_by_library(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context);

} // namespace palimpsest::kernels::cuda
