#include "kernels/cpu/gelu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gelu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/erf-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
namespace hn = hwy::HWY_NAMESPACE;

template<class D>
HWY_INLINE void gelu_at(D d, float* x)
{
    const auto value = hn::LoadU(d, x);
    const auto erf = Erf(d, hn::Mul(value, hn::Set(d, 0.70710678f)));
    const auto half = hn::Mul(value, hn::Set(d, 0.5f));
    hn::StoreU(hn::MulAdd(half, erf, half), d, x);
}

void gelu(float* x, int64_t count)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        gelu_at(d, x + i);
    for (; i < count; ++i)
        gelu_at(hn::CappedTag<float, 1>(), x + i);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {

HWY_EXPORT(gelu);

void gelu(float* x, int64_t count)
{
    HWY_DYNAMIC_DISPATCH(gelu)(x, count);
}

} // namespace palimpsest::kernels::cpu
#endif
