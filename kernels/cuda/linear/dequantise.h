// Rows of a weight as an operand of a prefill product.
#pragma once

#include "kernels/cuda/device/cuda_context.h"
#include "kernels/cuda/linear/cuda_weight.h"
#include "kernels/cuda/linear/operand.h"

namespace palimpsest::kernels::cuda {

// The operand type of a weight in prefill: F32 for F32 weights, BF16 for BF16 weights from sm_80 on, F16 for all
// others, whose values f16 represents exactly or with an eighth of the rounding error of bf16.
DType operand_type(DType weight, const CudaContext& context);

// How many rows of a part to convert at a time: few enough that they are still in the L2 cache when they are
// multiplied; all rows if they need no conversion.
int64_t rows_at_once(const WeightPlanes& part, const CudaContext& context);

// Rows of a weight in operand_type(part.type): the part's own plane if it already has that type, else scratch that
// is valid until the next call.
Operand weight_operand(const WeightPlanes& part, CudaContext& context);

} // namespace palimpsest::kernels::cuda
