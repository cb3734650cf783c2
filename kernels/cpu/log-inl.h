// The natural logarithm of a vector of floats, for entropies.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_LOG_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_LOG_INL_H
#undef PALIMPSEST_KERNELS_CPU_LOG_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_LOG_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

// ln x for normal x > 0, within 2 units in the last place, or 1e-7 near 1. Undefined for NaN and infinity.
//
// x = 2^n (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); ln(1 + f) = f - f^2/2 + f^3 p(f), p from Cephes (logf). ln 2
// is split into two parts, so that n times the first is exact.
template<class D, class V>
HWY_INLINE V Log(D d, V x)
{
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::RebindToSigned<D> di;
    const auto root_half = hn::Set(di, 0x3F3504F3);
    const auto above = hn::Sub(hn::BitCast(di, x), root_half);
    const auto n = hn::ShiftRight<23>(above);
    const auto fraction = hn::Add(hn::And(above, hn::Set(di, 0x007FFFFF)), root_half);
    const auto f = hn::Sub(hn::BitCast(d, fraction), hn::Set(d, 1.0f));
    auto p = hn::Set(d, 7.0376836292e-2f);
    p = hn::MulAdd(p, f, hn::Set(d, -1.1514610310e-1f));
    p = hn::MulAdd(p, f, hn::Set(d, 1.1676998740e-1f));
    p = hn::MulAdd(p, f, hn::Set(d, -1.2420140846e-1f));
    p = hn::MulAdd(p, f, hn::Set(d, 1.4249322787e-1f));
    p = hn::MulAdd(p, f, hn::Set(d, -1.6668057665e-1f));
    p = hn::MulAdd(p, f, hn::Set(d, 2.0000714765e-1f));
    p = hn::MulAdd(p, f, hn::Set(d, -2.4999993993e-1f));
    p = hn::MulAdd(p, f, hn::Set(d, 3.3333331174e-1f));
    const auto n_float = hn::ConvertTo(d, n);
    const auto square = hn::Mul(f, f);
    auto rest = hn::Mul(hn::Mul(f, square), p);
    rest = hn::MulAdd(n_float, hn::Set(d, -2.12194440e-4f), rest);
    rest = hn::NegMulAdd(square, hn::Set(d, 0.5f), rest);
    return hn::MulAdd(n_float, hn::Set(d, 0.693359375f), hn::Add(f, rest));
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
