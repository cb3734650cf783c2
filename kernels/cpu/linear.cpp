#include "kernels/base/error.h"
#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemv.h"
#include "kernels/cpu/kernels.h"

namespace palimpsest::kernels::cpu {
namespace {

void require(bool holds, const char* what)
{
    if (!holds) throw Error(ErrorKind::Internal, "PAL-KERNEL-01", "weight", what, "report this as a bug");
}

} // namespace

CpuWeight::CpuWeight(std::span<const HostMatrix> parts)
{
    require(!parts.empty(), "it has no parts");
    cols_ = parts.front().cols;
    for (const HostMatrix& m : parts) {
        require(m.data != nullptr && m.rows > 0 && m.cols > 0, "a part is empty");
        require(m.cols == cols_, "its parts differ in width");
        require(m.cols % info(m.type).block == 0, "a row is not a whole number of blocks");
        require(m.paired_head_dim == 0 || (m.paired_head_dim % 2 == 0 && m.rows % m.paired_head_dim == 0),
                "its rows are not a whole number of rotary heads");
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
