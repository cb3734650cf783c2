#include "kernels/cpu/swiglu.h"

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemv.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rms_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/swiglu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // each file has its own
namespace hn = hwy::HWY_NAMESPACE;

template<class D>
HWY_INLINE void swiglu_at(D d, const float* HWY_RESTRICT gate, const float* HWY_RESTRICT up, float* HWY_RESTRICT y)
{
    const auto g = hn::LoadU(d, gate);
    // Exp wants x <= 88; there silu is below 1e-36 already. Min keeps a NaN only as its second operand.
    const auto e = Exp(d, hn::Min(hn::Set(d, 88.0f), hn::Neg(g)));
    hn::StoreU(hn::Mul(hn::Div(g, hn::Add(hn::Set(d, 1.0f), e)), hn::LoadU(d, up)), d, y);
}

void swiglu(const float* gate, const float* up, int64_t count, float* y)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        swiglu_at(d, gate + i, up + i, y + i);
    for (; i < count; ++i)
        swiglu_at(hn::CappedTag<float, 1>(), gate + i, up + i, y + i);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {

HWY_EXPORT(swiglu);

void swiglu(const float* gate, const float* up, int64_t count, float* y)
{
    HWY_DYNAMIC_DISPATCH(swiglu)(gate, up, count, y);
}

void RowSource::make(int64_t r, float* to) const
{
    if (gated)
        swiglu(x + r * 2 * cols, x + r * 2 * cols + cols, cols, to);
    else
        rms_norm(in_memory(r), norm, cols, to);
}

void feed_forward(const FeedForwardArgs& args, CpuContext& context)
{
    const int64_t ffn = args.down->cols(), dim = args.down->rows();
    float* hidden = context.shared_scratch(ScratchUse::Hidden).get<float>(static_cast<size_t>(args.rows * 2 * ffn));
    const Product gate_up{.x = {.x = args.x, .rows = args.rows, .cols = dim, .norm = args.norm},
                          .weight = &on_cpu(args.gate_up),
                          .y = hidden};
    const Product down{.x = {.x = hidden, .rows = args.rows, .cols = ffn, .gated = true},
                       .weight = &on_cpu(args.down),
                       .y = args.x,
                       .accumulate = true};
    const auto multiply = args.phase == Phase::Decode ? gemv : gemm;
    multiply(gate_up, context);
    multiply(down, context);
}

} // namespace palimpsest::kernels::cpu
#endif
