#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemv.h"
#include "kernels/cpu/kernels.h"
#include "kernels/weight_parts.h"

namespace palimpsest::kernels::cpu {

CpuWeight::CpuWeight(std::span<const HostMatrix> parts)
{
    check_parts(parts);
    cols_ = parts.front().cols;
    for (const HostMatrix& m : parts) {
        parts_.push_back({m, rows_, row_bytes(m.type, m.cols)});
        rows_ += m.rows;
        bytes_ += m.rows * row_bytes(m.type, m.cols);
    }
}

std::unique_ptr<Weight> load(std::span<const HostMatrix> parts)
{
    return std::make_unique<CpuWeight>(parts);
}

void linear(const LinearArgs& args, CpuContext& context)
{
    const Product product{.x = {.x = args.x, .rows = args.rows, .cols = args.weight->cols(), .norm = args.norm},
                          .weight = &on_cpu(args.weight),
                          .bias = args.bias,
                          .y = args.y,
                          .accumulate = args.accumulate};
    if (args.phase == Phase::Decode)
        gemv(product, context);
    else
        gemm(product, context);
}

} // namespace palimpsest::kernels::cpu
