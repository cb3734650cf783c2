// The steps of a prefill product; the kernels are in multiply.cu and dequantise.cu.
#include "kernels/cuda/linear/gemm.h"

#include <algorithm>

#include "kernels/cuda/linear/dequantise.h"
#include "kernels/cuda/linear/multiply.h"
#include "kernels/cuda/linear/rms_norm.h"

#ifdef __CUDACC__ // the tests' emulator of CUDA (tests/support/simt) has no cuBLASLt
#include "kernels/cuda/linear/cublaslt.h"
#endif

namespace palimpsest::kernels::cuda {
namespace {

void multiply_by_library_or_own(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context)
{
#ifdef __CUDACC__
    if (a.type != DType::F32 && multiply_by_library(a, b, to, context)) return;
#endif
    multiply(a, b, to, context);
}

// Converts and multiplies a slice of the part at a time, so that its 16-bit rows are still in L2 when they are
// multiplied. `first`: index of the part's first row in the weight.
void multiply_part(const Operand& x, const WeightPlanes& part, const Product& product, int64_t first,
                   CudaContext& context)
{
    const int64_t most = rows_at_once(part, context);
    for (int64_t r = 0; r < part.rows; r += most) {
        WeightPlanes slice = rows_from(part, r);
        slice.rows = std::min(most, slice.rows);
        multiply_by_library_or_own(x, weight_operand(slice, context),
                                   {.y = product.y + first + r,
                                    .stride = product.weight->rows(),
                                    .bias = product.bias != nullptr ? product.bias + first + r : nullptr,
                                    .accumulate = product.accumulate},
                                   context);
    }
}

} // namespace

void gemm(const Product& product, CudaContext& context)
{
    Operand x{};
    int64_t done = 0;
    for (const WeightPlanes& part : product.weight->parts()) {
        const DType type = operand_type(part.type, context);
        if (x.values == nullptr || x.type != type)
            x = make_rows(product.x, type, ScratchUse::NarrowedRows, context);
        multiply_part(x, part, product, done, context);
        done += part.rows;
    }
}

} // namespace palimpsest::kernels::cuda
