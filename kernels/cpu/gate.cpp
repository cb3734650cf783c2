#include "kernels/cpu/gate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gate.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
namespace hn = hwy::HWY_NAMESPACE;

struct Silu {
    template<class D, class V>
    static HWY_INLINE V Exponent(D, V g)
    {
        return hn::Neg(g);
    }
};

// 0.5 (1 + tanh u) = 1 / (1 + e^-2u), with u = sqrt(2 / pi) (g + 0.044715 g^3).
struct GeluTanh {
    template<class D, class V>
    static HWY_INLINE V Exponent(D d, V g)
    {
        const auto cubic = hn::MulAdd(hn::Mul(g, g), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
        return hn::Mul(hn::Mul(g, cubic), hn::Set(d, -1.5957691216057308f)); // -2 sqrt(2 / pi)
    }
};

// y = up * g / (1 + e^exponent)
template<class Function, class D>
HWY_INLINE void gate_at(D d, const float* HWY_RESTRICT gate, const float* HWY_RESTRICT up, float* HWY_RESTRICT y)
{
    const auto g = hn::LoadU(d, gate);
    // Exp requires an exponent <= 88; beyond it, the exact 1 / (1 + e^exponent) is below 1e-38 anyway. Min
    // propagates a NaN only in its second operand.
    const auto e = Exp(d, hn::Min(hn::Set(d, 88.0f), Function::Exponent(d, g)));
    hn::StoreU(hn::Mul(hn::Div(g, hn::Add(hn::Set(d, 1.0f), e)), hn::LoadU(d, up)), d, y);
}

template<class Function>
HWY_INLINE void gate_row(const float* gate, const float* up, int64_t count, float* y)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        gate_at<Function>(d, gate + i, up + i, y + i);
    for (; i < count; ++i)
        gate_at<Function>(hn::CappedTag<float, 1>(), gate + i, up + i, y + i);
}

void apply_gate(Activation activation, const float* gate, const float* up, int64_t count, float* y)
{
    if (activation == Activation::GeluTanh) return gate_row<GeluTanh>(gate, up, count, y);
    gate_row<Silu>(gate, up, count, y);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {

HWY_EXPORT(apply_gate);

void apply_gate(Activation activation, const float* gate, const float* up, int64_t count, float* y)
{
    HWY_DYNAMIC_DISPATCH(apply_gate)(activation, gate, up, count, y);
}

} // namespace palimpsest::kernels::cpu
#endif
