// Rows of activations as operands: normalised (Zhang, Sennrich 2019, eq. 4) or gated, then converted to the
// operand type.
#pragma once

#include "kernels/cuda/linear/operand.h"
#include "kernels/cuda/linear/product.h"

namespace palimpsest::kernels::cuda {

// Returns [rows, operand_stride(cols)] in F32, F16 (with scales) or BF16: in the scratch of this use, or the
// source itself if nothing has to be done to it.
Operand make_rows(const RowSource& source, DType type, ScratchUse use, CudaContext& context);

} // namespace palimpsest::kernels::cuda
