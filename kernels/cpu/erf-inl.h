// The error function of a vector of floats, for GELU.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_ERF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_ERF_INL_H
#undef PALIMPSEST_KERNELS_CPU_ERF_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_ERF_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

// erf x for any x, with a relative error of at most 5e-7. NaN yields NaN, -0 yields -0.
//
// For |x| < 4: x p(x^2) / q(x^2), a minimax approximation with a relative error of 2.5e-8; the rest is rounding.
// From 4 on, 1 - erf x is below half a unit in the last place of 1.
template<class D, class V>
HWY_INLINE V Erf(D d, V x)
{
    namespace hn = hwy::HWY_NAMESPACE;
    const auto square = hn::Mul(x, x);
    auto p = hn::Set(d, 0x1.0aa862p-19f);
    p = hn::MulAdd(p, square, hn::Set(d, 0x1.2a62bp-12f));
    p = hn::MulAdd(p, square, hn::Set(d, 0x1.fcfe4p-9f));
    p = hn::MulAdd(p, square, hn::Set(d, 0x1.b30236p-5f));
    p = hn::MulAdd(p, square, hn::Set(d, 0x1.8c6122p-3f));
    p = hn::MulAdd(p, square, hn::Set(d, 0x1.20dd74p+0f));
    auto q = hn::Set(d, 0x1.39e638p-15f);
    q = hn::MulAdd(q, square, hn::Set(d, 0x1.36c972p-10f));
    q = hn::MulAdd(q, square, hn::Set(d, 0x1.f24f22p-7f));
    q = hn::MulAdd(q, square, hn::Set(d, 0x1.d87904p-4f));
    q = hn::MulAdd(q, square, hn::Set(d, 0x1.027c9ep-1f));
    q = hn::MulAdd(q, square, hn::Set(d, 1.0f));
    const auto near_zero = hn::Div(hn::Mul(x, p), q);
    const auto is_far = hn::Ge(hn::Abs(x), hn::Set(d, 4.0f)); // false for NaN
    return hn::IfThenElse(is_far, hn::CopySign(hn::Set(d, 1.0f), x), near_zero);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
