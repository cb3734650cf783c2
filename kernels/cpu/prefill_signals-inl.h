// Computes a policy's signals from the softmax weights of a panel while they are in the caches.
//
// Sums over rows are kept per lane, [rank][lane], until all rows of a part are processed. Signals that combine the
// heads of a row of the chunk need all of these heads in the same panel; lane l then belongs to head l modulo the
// group size. For groups larger than a panel, a plain loop computes these signals.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_PREFILL_SIGNALS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_PREFILL_SIGNALS_INL_H
#undef PALIMPSEST_KERNELS_CPU_PREFILL_SIGNALS_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_PREFILL_SIGNALS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/gini.h"
#include "kernels/cpu/log-inl.h"
#include "kernels/cpu/prefill_panel-inl.h"
#include "kernels/cpu/signal_part.h"

#ifndef PALIMPSEST_KERNELS_CPU_PREFILL_SIGNALS_ONCE
#define PALIMPSEST_KERNELS_CPU_PREFILL_SIGNALS_ONCE
namespace palimpsest::kernels {

inline constexpr int64_t signal_rank_block = 256; // sums over ranks are computed in blocks of this size

// A worker's running sums over rows. Null: not requested.
struct SignalLanes {
    float* sums = nullptr;         // [ranks, lanes of a vector]
    float* low_counts = nullptr;   // same shape
    float* entropies = nullptr;    // same shape
    float* head_sums = nullptr;    // [ranks, lanes of a panel]
    float* head_squares = nullptr; // same shape
    float* row = nullptr;          // [ranks]: sum over the heads of a row of the chunk that spans panels
    float* sorted = nullptr;       // [ranks]: weights of one query row
};

inline SignalLanes lay_out_lanes(const SignalRequest& wanted, int64_t vector_lanes, int64_t ranks,
                                 PartMemory& memory)
{
    SignalLanes lanes;
    lanes.sums = memory.take(wanted.sums, ranks * vector_lanes);
    lanes.low_counts = memory.take(wanted.low_counts, ranks * vector_lanes);
    lanes.entropies = memory.take(wanted.entropies, ranks * vector_lanes);
    lanes.head_sums = memory.take(wanted.head_sums, 2 * ranks * vector_lanes);
    lanes.head_squares = memory.take(wanted.head_squares, 2 * ranks * vector_lanes);
    lanes.row = memory.take(wanted.low_counts, ranks);
    lanes.sorted = memory.take(wanted.row_statistic == RowStatistic::Gini, ranks);
    return lanes;
}

} // namespace palimpsest::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The signals of the KV head to which the panels belong.
struct SignalContext {
    const SignalRequest& wanted;
    int64_t group = 1;
    int64_t ranks = 0;     // in the list and the chunk
    int64_t first_row = 0; // first query row that counts for signals
    SignalLanes lanes;
    SignalPart part;

    bool wide() const { return group > NR; }
};

// One value per lane, padded so that a vector can be loaded starting at any lane.
struct LaneValues {
    HWY_ALIGN float at[2 * NR] = {};
};

HWY_INLINE bool Counts(const SignalContext& context, const Panel& panel, int64_t lane)
{
    return lane < panel.rows && panel.first + lane >= context.first_row;
}

// Number of ranks visible to the row in `lane`.
HWY_INLINE int32_t SeenRanks(const Panel& panel, int64_t lane)
{
    return panel.limits[lane] - panel.starts[lane];
}

// Sums each lane's terms over the panel's ranks before `last`, in blocks; terms(rank, lane) is a vector.
template<class Terms>
HWY_INLINE void SumOverRanks(const Panel& panel, int64_t last, Terms&& terms, float* HWY_RESTRICT totals)
{
    const F32 d;
    for (int64_t lane = 0; lane < NR; lane += half_panel) {
        auto total = hn::Zero(d);
        const int64_t begin = panel.begin / signal_rank_block * signal_rank_block;
        for (int64_t first = begin; first < last; first += signal_rank_block) {
            auto sum = hn::Zero(d);
            for (int64_t rank = std::max(first, panel.begin); rank < std::min(first + signal_rank_block, last);
                 ++rank)
                sum = hn::Add(sum, terms(rank, lane));
            total = hn::Add(total, sum);
        }
        hn::Store(total, d, totals + lane);
    }
}

// Computes each lane's share, the factor that turns its weights into attention: 1 / total or, with outside_newest,
// 1 / the sum over the older ranks unless that sum is 0. 0 for lanes that do not count for signals.
HWY_INLINE void Shares(const SignalContext& context, const Panel& panel, LaneValues& shares)
{
    const F32 d;
    HWY_ALIGN float divisors[NR];
    std::copy_n(panel.denominators, NR, divisors);
    const int64_t outside = context.ranks - context.wanted.outside_newest;
    if (context.wanted.outside_newest >= 0 && outside < panel.visible) {
        const auto weight = [&](int64_t rank, int64_t lane) {
            return hn::Load(d, panel.scores + rank * NR + lane);
        };
        SumOverRanks(panel, std::max<int64_t>(outside, 0), weight, divisors);
    }
    for (int64_t lane = 0; lane < NR; ++lane) {
        const float divisor = divisors[lane] > 0 ? divisors[lane] : panel.denominators[lane];
        shares.at[lane] = Counts(context, panel, lane) ? 1.0f / divisor : 0.0f;
    }
}

// Adds weight * share of the lanes i and i + half_panel to sums[rank][i].
HWY_INLINE void AddColumnSums(const Panel& panel, const LaneValues& shares, float* HWY_RESTRICT sums)
{
    const F32 d;
    const auto left = hn::Load(d, shares.at), right = hn::Load(d, shares.at + half_panel);
    for (int64_t rank = panel.begin; rank < panel.visible; ++rank) {
        const float* weights = panel.scores + rank * NR;
        const auto product = hn::Mul(left, hn::Load(d, weights));
        const auto both = hn::MulAdd(right, hn::Load(d, weights + half_panel), product);
        hn::Store(hn::Add(hn::Load(d, sums + rank * half_panel), both), d, sums + rank * half_panel);
    }
}

// Adds -A ln(A + 1e-10) for the attention A = weight * share of each lane, as AddColumnSums does.
HWY_INLINE void AddEntropies(const Panel& panel, const LaneValues& shares, float* HWY_RESTRICT entropies)
{
    const F32 d;
    const auto floor = hn::Set(d, entropy_floor);
    for (int64_t rank = panel.begin; rank < panel.visible; ++rank) {
        auto sum = hn::Load(d, entropies + rank * half_panel);
        for (int64_t lane = 0; lane < NR; lane += half_panel) {
            const auto a = hn::Mul(hn::Load(d, shares.at + lane), hn::Load(d, panel.scores + rank * NR + lane));
            sum = hn::NegMulAdd(a, Log(d, hn::Add(a, floor)), sum);
        }
        hn::Store(sum, d, entropies + rank * half_panel);
    }
}

HWY_INLINE void AddHeadSums(const Panel& panel, const LaneValues& shares, float* HWY_RESTRICT sums)
{
    const F32 d;
    for (int64_t lane = 0; lane < NR; lane += half_panel) {
        const auto share = hn::Load(d, shares.at + lane);
        for (int64_t i = panel.begin * NR + lane; i < panel.visible * NR; i += NR)
            hn::Store(hn::MulAdd(share, hn::Load(d, panel.scores + i), hn::Load(d, sums + i)), d, sums + i);
    }
}

HWY_INLINE void AddHeadSquares(const Panel& panel, const LaneValues& shares, float* HWY_RESTRICT squares)
{
    const F32 d;
    for (int64_t lane = 0; lane < NR; lane += half_panel) {
        const auto share = hn::Load(d, shares.at + lane);
        for (int64_t i = panel.begin * NR + lane; i < panel.visible * NR; i += NR) {
            const auto a = hn::Mul(share, hn::Load(d, panel.scores + i));
            hn::Store(hn::MulAdd(a, a, hn::Load(d, squares + i)), d, squares + i);
        }
    }
}

// Returns, in lane l, the sum of weight * share over the lanes l ... l + group - 1 at one rank; it is meaningful
// where lane l is the first head of a row of the chunk. Reads up to group - 1 floats beyond the panel's weights and
// multiplies them by 0. `known` is the group size if it is known at compile time, else 0.
template<int known>
HWY_INLINE hn::Vec<F32> GroupSum(const float* HWY_RESTRICT weights, const LaneValues& shares, int64_t group,
                                 int64_t lane)
{
    const F32 d;
    auto sum = hn::Mul(hn::LoadU(d, weights + lane), hn::LoadU(d, shares.at + lane));
#pragma GCC unroll 8
    for (int64_t g = 1; g < (known ? known : group); ++g)
        sum = hn::MulAdd(hn::LoadU(d, weights + lane + g), hn::LoadU(d, shares.at + lane + g), sum);
    return sum;
}

// Adds 1 to counts[rank][lane] where the sum over a row's heads is below the lane's threshold.
template<int known>
HWY_INLINE void AddLowCounts(const Panel& panel, const LaneValues& shares, const LaneValues& thresholds,
                             int64_t group, float* HWY_RESTRICT counts)
{
    const F32 d;
    const auto one = hn::Set(d, 1.0f);
    const auto left_threshold = hn::Load(d, thresholds.at),
               right_threshold = hn::Load(d, thresholds.at + half_panel);
    const auto add = [&](int64_t rank, auto among) {
        const float* weights = panel.scores + rank * NR;
        const auto left = hn::Lt(GroupSum<known>(weights, shares, group, 0), left_threshold);
        const auto right = hn::Lt(GroupSum<known>(weights, shares, group, half_panel), right_threshold);
        const auto low = hn::Add(hn::IfThenElseZero(among(left, rank, 0), one),
                                 hn::IfThenElseZero(among(right, rank, half_panel), one));
        hn::Store(hn::Add(hn::Load(d, counts + rank * half_panel), low), d, counts + rank * half_panel);
    };
    ForPanelRanks(
        panel, 0, panel.visible, [&](int64_t rank) { add(rank, [](auto mask, int64_t, int64_t) { return mask; }); },
        [&](int64_t rank) {
            add(rank,
                [&](auto mask, int64_t at, int64_t lane) { return hn::And(mask, Attending(panel, at, lane)); });
        });
}

HWY_INLINE void AddLowCounts(const SignalContext& context, const Panel& panel, const LaneValues& shares)
{
    const int64_t group = context.group;
    LaneValues thresholds;
    for (int64_t lane = 0; lane < NR; ++lane) {
        const bool begins_row = lane % group == 0 && Counts(context, panel, lane);
        thresholds.at[lane] =
            begins_row ? static_cast<float>(group) / static_cast<float>(SeenRanks(panel, lane)) : -1.0f;
    }
    float* counts = context.lanes.low_counts;
    switch (group) {
    case 1:
        return AddLowCounts<1>(panel, shares, thresholds, group, counts);
    case 2:
        return AddLowCounts<2>(panel, shares, thresholds, group, counts);
    case 3:
        return AddLowCounts<3>(panel, shares, thresholds, group, counts);
    case 4:
        return AddLowCounts<4>(panel, shares, thresholds, group, counts);
    case 5:
        return AddLowCounts<5>(panel, shares, thresholds, group, counts);
    case 6:
        return AddLowCounts<6>(panel, shares, thresholds, group, counts);
    case 7:
        return AddLowCounts<7>(panel, shares, thresholds, group, counts);
    case 8:
        return AddLowCounts<8>(panel, shares, thresholds, group, counts);
    default:
        return AddLowCounts<0>(panel, shares, thresholds, group, counts);
    }
}

// For a query group larger than a panel: adds low counts and head moments directly to the part, one query row at a
// time.
HWY_INLINE void AddWideGroup(const SignalContext& context, const Panel& panel, const LaneValues& shares)
{
    const SignalPart& part = context.part;
    for (int64_t lane = 0; lane < panel.rows; ++lane) {
        if (!Counts(context, panel, lane)) continue;
        const int64_t head = (panel.first + lane) % context.group;
        const float uniform = static_cast<float>(context.group) / static_cast<float>(SeenRanks(panel, lane));
        for (int64_t rank = panel.starts[lane]; rank < panel.limits[lane]; ++rank) {
            const float a = panel.scores[rank * NR + lane] * shares.at[lane];
            if (part.head_sums) part.head_sums[head * part.ranks + rank] += a;
            if (part.head_squares) part.head_squares[head * part.ranks + rank] += a * a;
            if (!part.low_counts) continue;
            float& row = context.lanes.row[rank];
            row = head == 0 ? a : row + a;
            if (head == context.group - 1 && row < uniform) part.low_counts[rank] += 1.0f;
        }
    }
}

// `sorted` is scratch for the visible ranks.
inline float Gini(const Panel& panel, int64_t lane, float* sorted)
{
    const int64_t seen = SeenRanks(panel, lane);
    for (int64_t i = 0; i < seen; ++i)
        sorted[i] = panel.scores[(panel.starts[lane] + i) * NR + lane];
    return gini_of(sorted, seen);
}

// statistics[lane] = -sum a ln a / ln v, with v visible ranks; 0 for v = 1.
HWY_INLINE void RowEntropies(const Panel& panel, const float* HWY_RESTRICT inverse_totals,
                             float* HWY_RESTRICT statistics)
{
    const F32 d;
    const auto smallest = hn::Set(d, 0x1p-126f); // for a = 0, whose logarithm must be finite
    SumOverRanks(
        panel, panel.visible,
        [&](int64_t rank, int64_t lane) {
            const auto a =
                hn::Mul(hn::Load(d, inverse_totals + lane), hn::Load(d, panel.scores + rank * NR + lane));
            return hn::Neg(hn::Mul(a, Log(d, hn::Max(a, smallest))));
        },
        statistics);
    for (int64_t lane = 0; lane < NR; ++lane)
        statistics[lane] =
            SeenRanks(panel, lane) > 1 ? statistics[lane] / std::log(float(SeenRanks(panel, lane))) : 0.0f;
}

// statistics[lane] = the share of the v visible ranks with a >= 1/v.
HWY_INLINE void RowDensities(const Panel& panel, const float* HWY_RESTRICT inverse_totals,
                             float* HWY_RESTRICT statistics)
{
    const F32 d;
    HWY_ALIGN float uniform[NR];
    for (int64_t lane = 0; lane < NR; ++lane)
        uniform[lane] = 1.0f / static_cast<float>(SeenRanks(panel, lane));
    const auto one = hn::Set(d, 1.0f);
    SumOverRanks(
        panel, panel.visible,
        [&](int64_t rank, int64_t lane) {
            const auto a =
                hn::Mul(hn::Load(d, inverse_totals + lane), hn::Load(d, panel.scores + rank * NR + lane));
            return hn::IfThenElseZero(hn::Ge(a, hn::Load(d, uniform + lane)), one);
        },
        statistics);
    for (int64_t lane = 0; lane < NR; ++lane)
        statistics[lane] /= static_cast<float>(SeenRanks(panel, lane));
}

HWY_INLINE void AddRowStatistics(const SignalContext& context, const Panel& panel)
{
    HWY_ALIGN float inverse_totals[NR], statistics[NR];
    for (int64_t lane = 0; lane < NR; ++lane)
        inverse_totals[lane] = 1.0f / panel.denominators[lane];
    if (context.wanted.row_statistic == RowStatistic::Entropy)
        RowEntropies(panel, inverse_totals, statistics);
    else if (context.wanted.row_statistic == RowStatistic::Density)
        RowDensities(panel, inverse_totals, statistics);
    for (int64_t lane = 0; lane < panel.rows; ++lane) {
        if (!Counts(context, panel, lane)) continue;
        if (context.wanted.row_statistic == RowStatistic::Gini)
            statistics[lane] = Gini(panel, lane, context.lanes.sorted);
        context.part.row_statistics[(panel.first + lane) % context.group] += statistics[lane];
    }
}

HWY_INLINE void BeginSignals(const SignalContext& context)
{
    const SignalLanes& lanes = context.lanes;
    const SignalPart& part = context.part;
    const auto clear = [](float* to, int64_t floats) {
        if (to) std::fill_n(to, floats, 0.0f);
    };
    clear(lanes.sums, context.ranks * half_panel);
    clear(lanes.entropies, context.ranks * half_panel);
    clear(part.row_statistics, context.group);
    if (context.wide()) {
        clear(part.low_counts, part.ranks);
        clear(part.head_sums, context.group * part.ranks);
        clear(part.head_squares, context.group * part.ranks);
    } else {
        clear(lanes.low_counts, context.ranks * half_panel);
        clear(lanes.head_sums, context.ranks * NR);
        clear(lanes.head_squares, context.ranks * NR);
    }
}

// Adds the signals of one panel. REQUIRES: if needs_all_heads, and the group is not wide, lane 0 is the first head
// of a row of the chunk, whose heads are all in the panel.
HWY_INLINE void AddSignals(const SignalContext& context, const Panel& panel)
{
    if (panel.first + panel.rows <= context.first_row) return;
    const SignalLanes& lanes = context.lanes;
    LaneValues shares;
    Shares(context, panel, shares);
    if (lanes.sums) AddColumnSums(panel, shares, lanes.sums);
    if (lanes.entropies) AddEntropies(panel, shares, lanes.entropies);
    if (context.part.row_statistics) AddRowStatistics(context, panel);
    if (context.wide()) {
        if (needs_all_heads(context.wanted)) AddWideGroup(context, panel, shares);
        return;
    }
    if (lanes.low_counts) AddLowCounts(context, panel, shares);
    if (lanes.head_sums) AddHeadSums(panel, shares, lanes.head_sums);
    if (lanes.head_squares) AddHeadSquares(panel, shares, lanes.head_squares);
}

HWY_INLINE void FoldLanes(const float* HWY_RESTRICT lanes, int64_t ranks, float* HWY_RESTRICT to)
{
    const F32 d;
    for (int64_t rank = 0; rank < ranks; ++rank)
        to[rank] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, lanes + rank * half_panel)));
}

// Sums the lanes of each head, which are `group` apart. This version is for powers of two, where lanes can be added
// pairwise.
template<int64_t group>
HWY_INLINE void FoldHeads(const float* HWY_RESTRICT lanes, int64_t ranks, int64_t stride, float* HWY_RESTRICT to)
{
    const F32 d;
    HWY_ALIGN float heads[half_panel];
    for (int64_t rank = 0; rank < ranks; ++rank, lanes += NR) {
        hn::Store(hn::Add(hn::Load(d, lanes), hn::Load(d, lanes + half_panel)), d, heads);
#pragma GCC unroll 4
        for (int64_t width = half_panel / 2; width >= group; width /= 2)
#pragma GCC unroll 8
            for (int64_t i = 0; i < width; ++i)
                heads[i] += heads[i + width];
        for (int64_t g = 0; g < group; ++g)
            to[g * stride + rank] = heads[g];
    }
}

HWY_INLINE void FoldHeads(const float* HWY_RESTRICT lanes, int64_t ranks, int64_t group, int64_t stride,
                          float* HWY_RESTRICT to)
{
    if constexpr (half_panel >= 4) {
        if (group == 1) return FoldHeads<1>(lanes, ranks, stride, to);
        if (group == 2) return FoldHeads<2>(lanes, ranks, stride, to);
        if (group == 4) return FoldHeads<4>(lanes, ranks, stride, to);
    }
    if constexpr (half_panel >= 8)
        if (group == 8) return FoldHeads<8>(lanes, ranks, stride, to);
    for (int64_t rank = 0; rank < ranks; ++rank, lanes += NR)
        for (int64_t g = 0; g < group; ++g) {
            float sum = 0;
            for (int64_t lane = g; lane + group - g <= NR; lane += group)
                sum += lanes[lane];
            to[g * stride + rank] = sum;
        }
}

// Sums the lanes, and stores the results in the part.
HWY_INLINE void EndSignals(const SignalContext& context)
{
    const SignalLanes& lanes = context.lanes;
    const SignalPart& part = context.part;
    if (lanes.sums) FoldLanes(lanes.sums, context.ranks, part.sums);
    if (lanes.entropies) FoldLanes(lanes.entropies, context.ranks, part.entropies);
    if (context.wide()) return;
    if (lanes.low_counts) FoldLanes(lanes.low_counts, context.ranks, part.low_counts);
    if (lanes.head_sums) FoldHeads(lanes.head_sums, context.ranks, context.group, part.ranks, part.head_sums);
    if (lanes.head_squares)
        FoldHeads(lanes.head_squares, context.ranks, context.group, part.ranks, part.head_squares);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
