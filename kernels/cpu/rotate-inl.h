// Rotary embedding of one row ("RoFormer", Su et al. 2021, eq. 34), with half-split pairs.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_ROTATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_ROTATE_INL_H
#undef PALIMPSEST_KERNELS_CPU_ROTATE_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_ROTATE_INL_H
#endif

#include <cassert>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/backend.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template<class D>
HWY_INLINE void RotatePairs(D d, const float* HWY_RESTRICT cosines, const float* HWY_RESTRICT sines,
                            float* HWY_RESTRICT left, float* HWY_RESTRICT right, int64_t i)
{
    const auto c = hn::LoadU(d, cosines + i), s = hn::LoadU(d, sines + i);
    const auto a = hn::LoadU(d, left + i), b = hn::LoadU(d, right + i);
    hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, left + i);
    hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), d, right + i);
}

// Rotates x[0, rotary_dim) in place by row `position` of the table. REQUIRES: rotary_dim is even.
HWY_INLINE void RotateRow(const RopeTable& table, int64_t position, float* HWY_RESTRICT x)
{
    assert(position >= 0 && position < table.positions);
    const int64_t half = table.rotary_dim / 2;
    const float* cosines = table.cos_sin + position * table.rotary_dim;
    const float* sines = cosines + half;
    const hn::ScalableTag<float> d;
    const hn::CappedTag<float, 4> small;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d)), small_lanes = static_cast<int64_t>(hn::Lanes(small));
    int64_t i = 0;
    for (; i + lanes <= half; i += lanes)
        RotatePairs(d, cosines, sines, x, x + half, i);
    for (; i + small_lanes <= half; i += small_lanes)
        RotatePairs(small, cosines, sines, x, x + half, i);
    for (; i < half; ++i) {
        const float a = x[i], b = x[i + half];
        x[i] = a * cosines[i] - b * sines[i];
        x[i + half] = b * cosines[i] + a * sines[i];
    }
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
