// The hyperbolic tangent of a vector of floats, for soft caps.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_TANH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_TANH_INL_H
#undef PALIMPSEST_KERNELS_CPU_TANH_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_TANH_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

// tanh x for any x, within 4 units in the last place. NaN yields NaN, -0 yields -0.
//
// For |x| < 0.625: x + x^3 p(x^2), where the minimax polynomial p has a relative error of at most 5e-9. Otherwise 1
// - 2 / (e^2|x| + 1), with the sign of x.
template<class D, class V>
HWY_INLINE V Tanh(D d, V x)
{
    namespace hn = hwy::HWY_NAMESPACE;
    const auto magnitude = hn::Abs(x);
    const auto square = hn::Mul(x, x);
    auto p = hn::Set(d, -0x1.75e1cep-8f);
    p = hn::MulAdd(p, square, hn::Set(d, 0x1.52269cp-6f));
    p = hn::MulAdd(p, square, hn::Set(d, -0x1.b83c5ap-5f));
    p = hn::MulAdd(p, square, hn::Set(d, 0x1.110726p-3f));
    p = hn::MulAdd(p, square, hn::Set(d, -0x1.555532p-2f));
    const auto near_zero = hn::MulAdd(hn::Mul(x, square), p, x);
    // tanh is 1 in f32 from 9.1 on, so larger values may be bounded, which keeps Exp in its range.
    const auto bounded = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 10.0f)), hn::Set(d, 10.0f), magnitude);
    const auto e = Exp(d, hn::Add(bounded, bounded));
    const auto one = hn::Set(d, 1.0f);
    const auto far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one)));
    return hn::CopySign(hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), near_zero, far), x);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
