// Computes a policy's signals from the attention probabilities of one token.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_DECODE_SIGNALS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_DECODE_SIGNALS_INL_H
#undef PALIMPSEST_KERNELS_CPU_DECODE_SIGNALS_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_DECODE_SIGNALS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/backend.h"
#include "kernels/cpu/gini.h"
#include "kernels/cpu/log-inl.h"
#include "kernels/cpu/signal_part.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls step(tag, first rank) for whole vectors, then for one rank at a time.
template<class Step>
HWY_INLINE void ForRanks(int64_t ranks, Step&& step)
{
    const hn::ScalableTag<float> d;
    const hn::CappedTag<float, 1> single;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= ranks; i += lanes)
        step(d, i);
    for (; i < ranks; ++i)
        step(single, i);
}

inline double SumOf(const float* x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
        sum += static_cast<double>(x[i]);
    return sum;
}

// `sorted` is scratch for [ranks].
inline float RowStatisticOf(RowStatistic kind, const float* a, int64_t ranks, float* sorted)
{
    if (kind == RowStatistic::Gini) {
        std::copy_n(a, ranks, sorted);
        return gini_of(sorted, ranks);
    }
    if (kind == RowStatistic::Density) {
        const float uniform = 1.0f / static_cast<float>(ranks);
        const auto dense = std::count_if(a, a + ranks, [&](float x) { return x >= uniform; });
        return static_cast<float>(dense) / static_cast<float>(ranks);
    }
    if (ranks == 1) return 0.0f;
    ForRanks(ranks, [&](auto d, int64_t i) {
        const auto x = hn::LoadU(d, a + i);
        hn::StoreU(hn::Mul(x, Log(d, hn::Max(x, hn::Set(d, 0x1p-126f)))), d, sorted + i);
    });
    return static_cast<float>(-SumOf(sorted, ranks) / std::log(static_cast<double>(ranks)));
}

// Divides each head's probabilities by their sum over all but the `newest` ranks, unless that sum is 0.
inline void DivideByOutside(const DecodeWeights& row, int64_t newest)
{
    if (newest == 0) return;
    for (int64_t g = 0; g < row.group; ++g) {
        float* a = row.head(g);
        const double outside = SumOf(a, std::max<int64_t>(row.ranks - newest, 0));
        if (outside <= 0) continue;
        const auto factor = static_cast<float>(1.0 / outside);
        ForRanks(row.ranks, [&](auto d, int64_t i) {
            hn::StoreU(hn::Mul(hn::LoadU(d, a + i), hn::Set(d, factor)), d, a + i);
        });
    }
}

// Computes the signals that are sums over the query group. The outputs are [ranks], for this KV head; null: not
// requested.
inline void GroupSignals(const DecodeWeights& row, float* sums, float* low_counts, float* entropies)
{
    const float uniform = static_cast<float>(row.group) / static_cast<float>(row.ranks);
    ForRanks(row.ranks, [&](auto d, int64_t i) {
        auto sum = hn::LoadU(d, row.a + i);
        for (int64_t g = 1; g < row.group; ++g)
            sum = hn::Add(sum, hn::LoadU(d, row.head(g) + i));
        if (sums) hn::StoreU(sum, d, sums + i);
        const auto low = hn::Lt(sum, hn::Set(d, uniform));
        if (low_counts) hn::StoreU(hn::IfThenElseZero(low, hn::Set(d, 1.0f)), d, low_counts + i);
    });
    if (!entropies) return;
    ForRanks(row.ranks, [&](auto d, int64_t i) {
        auto sum = hn::Zero(d);
        for (int64_t g = 0; g < row.group; ++g) {
            const auto a = hn::LoadU(d, row.head(g) + i);
            sum = hn::NegMulAdd(a, Log(d, hn::Add(a, hn::Set(d, entropy_floor))), sum);
        }
        hn::StoreU(sum, d, entropies + i);
    });
}

// `sorted` is scratch for [ranks]. Modifies the row.
void DecodeSignals(const SignalRequest& wanted, int64_t head, const DecodeWeights& row, float* sorted)
{
    for (int64_t g = 0; g < row.group && wanted.row_statistic != RowStatistic::None; ++g)
        wanted.row_statistics[head * row.group + g] =
            RowStatisticOf(wanted.row_statistic, row.head(g), row.ranks, sorted);
    if (wanted.outside_newest >= 0) DivideByOutside(row, wanted.outside_newest);
    const auto of_head = [&](float* out) { return out ? out + head * wanted.stride : nullptr; };
    GroupSignals(row, of_head(wanted.sums), of_head(wanted.low_counts), of_head(wanted.entropies));
    for (int64_t g = 0; g < row.group; ++g) {
        const int64_t to = (head * row.group + g) * wanted.stride;
        if (wanted.head_sums) std::copy_n(row.head(g), row.ranks, wanted.head_sums + to);
        if (!wanted.head_squares) continue;
        ForRanks(row.ranks, [&](auto d, int64_t i) {
            const auto a = hn::LoadU(d, row.head(g) + i);
            hn::StoreU(hn::Mul(a, a), d, wanted.head_squares + to + i);
        });
    }
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
