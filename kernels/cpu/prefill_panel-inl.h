// A panel: the query rows that prefill attention processes together, in the lanes of two vectors.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H
#undef PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_PREFILL_PANEL_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
inline constexpr int64_t half_panel = NR / 2; // lanes of one vector

// NR query rows of one KV head, in lanes. A row attends to ranks [start, limit); both ends are non-decreasing from
// lane to lane. Lanes beyond the last row repeat its range with zero queries; their results are ignored.
struct Panel {
    float* scores = nullptr;  // [ranks, NR]
    float* queries = nullptr; // [dim, NR]
    float* out = nullptr;     // [dim, NR]
    int64_t first = 0;        // query row of lane 0
    int64_t rows = 0;
    // Some lane attends to each of the ranks [begin, visible), every lane to each of [shared_begin, shared), which
    // may be empty.
    int64_t begin = 0, shared_begin = 0, shared = 0, visible = 0;
    HWY_ALIGN int32_t starts[NR];
    HWY_ALIGN int32_t limits[NR];
    HWY_ALIGN float row_maxima[NR];
    HWY_ALIGN float denominators[NR];
};

// Which lanes of the vector that starts at `lane` attend to `rank`.
HWY_INLINE hn::Mask<F32> Attending(const Panel& panel, int64_t rank, int64_t lane)
{
    const hn::RebindToSigned<F32> i32;
    const auto at = hn::Set(i32, static_cast<int32_t>(rank));
    const auto before_limit = hn::Gt(hn::Load(i32, panel.limits + lane), at);
    const auto before_start = hn::Gt(hn::Load(i32, panel.starts + lane), at);
    return hn::RebindMask(F32(), hn::AndNot(before_start, before_limit));
}

// Calls masked(rank) for the ranks in [first, last) that only some lanes attend to, and shared(rank) for those that
// all lanes attend to.
template<class Shared, class Masked>
HWY_INLINE void ForPanelRanks(const Panel& panel, int64_t first, int64_t last, Shared&& shared, Masked&& masked)
{
    int64_t rank = std::max(first, panel.begin);
    last = std::min(last, panel.visible);
    for (; rank < std::min(last, panel.shared_begin); ++rank)
        masked(rank);
    for (; rank < std::min(last, panel.shared); ++rank)
        shared(rank);
    for (; rank < last; ++rank)
        masked(rank);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
