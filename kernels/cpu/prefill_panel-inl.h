// The query rows that prefill attention takes side by side, in the lanes of two vectors.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H
#undef PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
inline constexpr int64_t half_panel = NR / 2; // lanes of a vector

// NR query rows of one KV head, in lanes. A row attends to ranks [0, limit); lanes beyond the last row repeat its
// limit with zero queries, and nothing of them is read.
struct Panel {
    float* scores = nullptr;  // [ranks, NR]
    float* queries = nullptr; // [dim, NR]
    float* out = nullptr;     // [dim, NR]
    int64_t first = 0;        // query row of lane 0
    int64_t rows = 0;
    int64_t shared = 0;  // ranks that every lane attends to
    int64_t visible = 0; // ranks that some lane attends to
    HWY_ALIGN int32_t limits[NR];
    HWY_ALIGN float tops[NR];
    HWY_ALIGN float totals[NR];
};

// Lanes of the vector at `lane` that attend to `rank`.
HWY_INLINE hn::Mask<F32> Attending(const Panel& panel, int64_t rank, int64_t lane)
{
    const hn::RebindToSigned<F32> i32;
    const auto limits = hn::Load(i32, panel.limits + lane);
    return hn::RebindMask(F32(), hn::Gt(limits, hn::Set(i32, static_cast<int32_t>(rank))));
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
