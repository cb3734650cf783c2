// Turns any RowSource into an operand: its rows are normalised (Zhang, Sennrich 2019, eq. 4), gated or left as they
// are, then converted to the operand type.
#pragma once

#include "kernels/cuda/linear/operand.h"
#include "kernels/cuda/linear/product.h"

namespace palimpsest::kernels::cuda {

// Returns [rows, operand_stride(cols)] in F32, F16 (with scales) or BF16, in scratch `use`. F32 rows without norm
// and gate are not copied: the operand then points to the source.
Operand make_rows(const RowSource& source, DType type, ScratchUse use, CudaContext& context);

} // namespace palimpsest::kernels::cuda
