#include "kernels/cuda/gemm.h"

#include "kernels/cuda/dequantise.h"
#include "kernels/cuda/multiply.h"
#include "kernels/cuda/rms_norm.h"

#ifdef __CUDACC__
#include "kernels/cuda/cublaslt.h"
#endif

namespace palimpsest::kernels::cuda {
namespace {

void multiply_by_best(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context)
{
#ifdef __CUDACC__
    if (a.type != DType::F32 && multiply_by_library(a, b, to, context)) return;
#endif
    multiply(a, b, to, context);
}

} // namespace

void gemm(const Product& product, CudaContext& context)
{
    Operand rows{};
    bool made = false;
    int64_t done = 0;
    for (const WeightPlanes& part : product.weight->parts()) {
        const DType type = operand_type(part.type, context);
        if (!made || rows.type != type) rows = make_rows(product.x, type, ScratchUse::NarrowedRows, context);
        made = true;
        multiply_by_best(rows, weight_operand(part, context),
                         {.y = product.y + done,
                          .stride = product.weight->rows(),
                          .bias = product.bias != nullptr ? product.bias + done : nullptr,
                          .accumulate = product.accumulate},
                         context);
        done += part.rows;
    }
}

} // namespace palimpsest::kernels::cuda
