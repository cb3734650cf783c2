// Transposes NR rows of W to a weight panel, from which a tile of the product reads its NR columns.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_TRANSPOSE_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_TRANSPOSE_PANEL_INL_H
#undef PALIMPSEST_KERNELS_CPU_TRANSPOSE_PANEL_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_TRANSPOSE_PANEL_INL_H
#endif

#include "kernels/cpu/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Loads four floats of each of the rows 0, 4, 8, ... into one vector.
template<class D>
HWY_INLINE hn::Vec<D> LoadEveryFourthRow(D d, const float* HWY_RESTRICT from, int64_t stride)
{
    if constexpr (hn::MaxLanes(d) == 4) {
        return hn::LoadU(d, from);
    } else {
        const hn::Half<D> half;
        const auto rows = static_cast<int64_t>(hn::MaxLanes(half));
        return hn::Combine(d, LoadEveryFourthRow(half, from + rows * stride, stride),
                           LoadEveryFourthRow(half, from, stride));
    }
}

// to[p * NR + r] = from[r * stride + p] for p < 4 and r < Lanes(d).
template<class D>
HWY_INLINE void TransposeFour(D d, const float* HWY_RESTRICT from, int64_t stride, float* HWY_RESTRICT to)
{
    const hn::RepartitionToWide<hn::RebindToUnsigned<D>> pairs;
    const auto v0 = LoadEveryFourthRow(d, from, stride), v1 = LoadEveryFourthRow(d, from + stride, stride);
    const auto v2 = LoadEveryFourthRow(d, from + 2 * stride, stride);
    const auto v3 = LoadEveryFourthRow(d, from + 3 * stride, stride);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + NR);
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * NR);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * NR);
}
#endif

// panel[p * NR + r] = rows[r * stride + p] for p < kc and r < NR. Copies bits unchanged, so any 4-byte type works.
// REQUIRES: panel is aligned to a vector.
inline void TransposePanel(const float* HWY_RESTRICT rows, int64_t stride, int64_t kc, float* HWY_RESTRICT panel)
{
    int64_t p = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<float> d;
    for (; p + 4 <= kc; p += 4) {
        TransposeFour(d, rows + p, stride, panel + p * NR);
        TransposeFour(d, rows + NR / 2 * stride + p, stride, panel + p * NR + NR / 2);
    }
#endif
    for (; p < kc; ++p)
        for (int64_t r = 0; r < NR; ++r)
            panel[p * NR + r] = rows[r * stride + p];
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
