// Rows of activations as operands: normalised (Zhang, Sennrich 2019, eq. 4) or gated, then narrowed.
#pragma once

#include "kernels/cuda/operand.h"
#include "kernels/cuda/product.h"

namespace palimpsest::kernels::cuda {

// [rows, operand_stride(cols)] in F32, F16 (with scales) or BF16. Lies in the scratch of this use, or is the source
// itself if nothing has to be done to it.
Operand make_rows(const RowSource& source, DType type, ScratchUse use, CudaContext& context);

} // namespace palimpsest::kernels::cuda
