// Tensor-core products by cuBLASLt, if the machine has it.
//
// Uses one algorithm per operand type, width and height of the weight: the library's heuristic is asked once, for
// one number of rows, and its answer is used for all others, without split-K. The bits of a row therefore do not
// depend on the other rows.
#pragma once

#include "kernels/cuda/linear/multiply.h"

namespace palimpsest::kernels::cuda {

// Bytes of scratch that the library needs on the context's device; 0: there is no library.
size_t library_workspace(const CudaContext& context);

// Like multiply. Returns false, and computes nothing, if there is no library or it has no algorithm; this depends
// on the weight and the alignment of `to`, never on the number of rows. REQUIRES: 16-bit operands.
bool multiply_by_library(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context);

} // namespace palimpsest::kernels::cuda
