// Rows of a weight as an operand of the tensor cores.
#pragma once

#include "kernels/cuda/cuda_context.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/cuda/operand.h"

namespace palimpsest::kernels::cuda {

// The type in which a weight meets activations in prefill. What f16 holds exactly, or nearly, stays in it: its
// rounding is an eighth of bf16's. F32 weights stay F32.
DType operand_type(DType weight, const CudaContext& context);

// Whole part in operand_type(part.type): its own plane where that is it already, else scratch, until the next call.
Operand weight_operand(const WeightPlanes& part, CudaContext& context);

} // namespace palimpsest::kernels::cuda
