// The exponential of a vector of floats, for softmax and SiLU.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_EXP_INL_H
#undef PALIMPSEST_KERNELS_CPU_EXP_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_EXP_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

// e^x for x in [-inf, 88], within 2 units in the last place. Results that would be subnormal are 0, so e^-inf = 0.
// NaN yields NaN. REQUIRES: x <= 88 (the scale would overflow).
//
// x = n ln 2 + r with |r| <= ln(2)/2. ln 2 is split into two parts, so that n times the first is exact. e^r = 1 + r
// + r^2 q(r); the minimax polynomial q has a relative error of at most 3e-9.
template<class D, class V>
HWY_INLINE V Exp(D d, V x)
{
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::RebindToSigned<D> di;
    const auto n = hn::NearestInt(hn::Mul(x, hn::Set(d, 0x1.715476p0f)));
    const auto n_float = hn::ConvertTo(d, n);
    auto r = hn::NegMulAdd(n_float, hn::Set(d, 0x1.62e4p-1f), x);
    r = hn::NegMulAdd(n_float, hn::Set(d, 0x1.7f7d1cp-20f), r);
    auto q = hn::Set(d, 0x1.6a23cep-10f);
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.123a2p-7f));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.5558f2p-5f));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.555492p-3f));
    q = hn::MulAdd(q, r, hn::Set(d, 0x1.fffffcp-2f));
    const auto fraction = hn::Add(hn::MulAdd(hn::Mul(r, r), q, r), hn::Set(d, 1.0f));
    const auto scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
    const auto smallest = hn::Set(d, -87.3365f); // below this, n < -126
    return hn::IfThenZeroElse(hn::Lt(x, smallest), hn::Mul(fraction, scale));
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
