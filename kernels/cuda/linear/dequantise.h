// Rows of a weight as an operand for the tensor cores.
#pragma once

#include "kernels/cuda/device/cuda_context.h"
#include "kernels/cuda/linear/cuda_weight.h"
#include "kernels/cuda/linear/operand.h"

namespace palimpsest::kernels::cuda {

// The operand type of a weight in prefill. Types that f16 represents exactly, or nearly so, use f16: its rounding
// error is an eighth of bf16's. F32 weights stay F32.
DType operand_type(DType weight, const CudaContext& context);

// The number of rows of a part to convert at a time, so that they are still in the L2 cache when they are
// multiplied; all rows if no conversion is needed.
int64_t rows_at_once(const WeightPlanes& part, const CudaContext& context);

// Rows of a weight in operand_type(part.type): the part's own plane if it already has that type, else scratch that
// is valid until the next call.
Operand weight_operand(const WeightPlanes& part, CudaContext& context);

} // namespace palimpsest::kernels::cuda
