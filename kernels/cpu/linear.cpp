#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu/finish.h"
#include "kernels/cpu/fixed_point_gemm.h"
#include "kernels/cpu/gate.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemv.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rms_norm.h"
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

void RowSource::make(int64_t r, float* to) const
{
    if (gated)
        apply_gate(activation, x + r * 2 * cols, x + r * 2 * cols + cols, cols, to);
    else
        rms_norm(in_memory(r), norm, cols, to);
}

void put_bias(const Product& product, int64_t n, int64_t columns)
{
    for (int64_t r = 0; r < product.x.rows; ++r) {
        float* y = product.y + r * product.weight->rows();
        for (int64_t j = n; j < n + columns; ++j)
            y[j] = product.bias[j] + (product.accumulate ? y[j] : 0.0f);
    }
}

void multiply(const Product& product, Phase phase, CpuContext& context)
{
    if (phase == Phase::Decode)
        gemv(product, context);
    else if (takes_fixed_point_gemm(product, context))
        fixed_point_gemm(product, context);
    else
        gemm(product, context);
}

namespace {

// RowFinish applies to the product before it is accumulated, so an accumulating product needs scratch memory first.
void multiply_and_finish(Product product, const RowFinish& finish, Phase phase, CpuContext& context)
{
    if (finish.is_plain()) return multiply(product, phase, context);
    const int64_t rows = product.x.rows, cols = product.weight->rows();
    float* sum = product.accumulate ? product.y : nullptr;
    if (sum)
        product.y = context.shared_scratch(ScratchUse::Unfinished).get<float>(static_cast<size_t>(rows * cols));
    product.accumulate = false;
    multiply(product, phase, context);
    finish_rows(finish, product.y, rows, cols, sum, context);
}

} // namespace

void linear(const LinearArgs& args, CpuContext& context)
{
    const Product product{.x = {.x = args.x, .rows = args.rows, .cols = args.weight->cols(), .norm = args.norm},
                          .weight = &on_cpu(args.weight),
                          .bias = args.bias,
                          .y = args.y,
                          .accumulate = args.accumulate};
    multiply_and_finish(product, args.finish, args.phase, context);
}

void feed_forward(const FeedForwardArgs& args, CpuContext& context)
{
    const int64_t ffn = args.down->cols(), dim = args.down->rows();
    float* hidden = context.shared_scratch(ScratchUse::Hidden).get<float>(static_cast<size_t>(args.rows * 2 * ffn));
    const Product gate_up{.x = {.x = args.x, .rows = args.rows, .cols = dim, .norm = args.norm},
                          .weight = &on_cpu(args.gate_up),
                          .y = hidden};
    const Product down{
        .x = {.x = hidden, .rows = args.rows, .cols = ffn, .gated = true, .activation = args.activation},
        .weight = &on_cpu(args.down),
        .y = args.x,
        .accumulate = true};
    multiply(gate_up, args.phase, context);
    multiply_and_finish(down, args.finish, args.phase, context);
}

} // namespace palimpsest::kernels::cpu
