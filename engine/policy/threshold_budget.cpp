#include "engine/policy/threshold_budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace palimpsest::engine {

namespace {

// Best first; ties: the lower entry.
template<class Iterator>
void sort_by_score(Iterator first, Iterator last, std::span<const double> scores)
{
    std::sort(first, last,
              [&](uint32_t a, uint32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
}

// The entry's own importance.
double value(const ListCut& list, uint32_t entry)
{
    return list.pooled ? list.score(entry) : list.shaped[entry];
}

} // namespace

NormThreshold::NormThreshold(Rule rule, const PolicyContext& context, int64_t cap)
    : rule_(rule), cap_(cap), lists_(int64_t{context.layers} * context.kv_heads)
{
}

void NormThreshold::rank(const ListCut& list)
{
    const uint32_t n = list.size(), sinks = std::min(list.first(), n);
    order_.resize(n);
    std::iota(order_.begin(), order_.begin() + sinks, 0u);
    for (uint32_t i = sinks; i < n; ++i)
        order_[i] = n - 1 - (i - sinks);
    if (rule_.ranking == Ranking::Position) return;
    const uint32_t ends = n - list.candidates();
    sort_by_score(order_.begin() + ends, order_.end(), list.shaped);
}

// i*: the smallest count with 1 - sqrt(E_i / E_n) < threshold.
int64_t NormThreshold::smallest_count(std::span<const ListCut> heads)
{
    squares_.clear();
    for (const ListCut& list : heads) {
        rank(list);
        squares_.resize(std::max<size_t>(squares_.size(), list.size()), 0.0);
        for (size_t i = 0; i < order_.size(); ++i) {
            const double a = value(list, order_[i]);
            squares_[i] += a * a;
        }
    }
    const double all = std::accumulate(squares_.begin(), squares_.end(), 0.0);
    double held = 0;
    for (size_t i = 0; i < squares_.size(); ++i) {
        if (1 - std::sqrt(held / all) < rule_.threshold) return static_cast<int64_t>(i);
        held += squares_[i];
    }
    return static_cast<int64_t>(squares_.size());
}

void NormThreshold::slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result)
{
    int64_t slots = cap_;
    if (layer >= rule_.full_layers) {
        const ProtectedEnds& ends = heads.front().ends;
        const int64_t beyond_ends = smallest_count(heads) - ends.sinks - ends.recent;
        slots = std::min(cap_, std::max<int64_t>(beyond_ends, rule_.least));
    }
    std::fill(result.begin(), result.end(), static_cast<int32_t>(slots));
}

MassThreshold::MassThreshold(double share, const PolicyContext& context, int64_t cap)
    : share_(share), cap_(cap), lists_(int64_t{context.layers} * context.kv_heads)
{
}

int64_t MassThreshold::selectable(const ListCut& list)
{
    order_.resize(list.size());
    std::iota(order_.begin(), order_.end(), 0u);
    sort_by_score(order_.begin(), order_.end(), list.shaped);
    const double total = std::accumulate(list.shaped.begin(), list.shaped.end(), 0.0);
    double held = 0;
    int64_t count = 0;
    for (const uint32_t entry : order_) {
        if (held >= share_ * total - 1e-12) break;
        held += list.shaped[entry];
        count += entry >= list.first() && entry < list.end();
    }
    return count;
}

void MassThreshold::slots(int32_t, std::span<const ListCut> heads, std::span<int32_t> result)
{
    for (size_t h = 0; h < heads.size(); ++h)
        result[h] = static_cast<int32_t>(std::min(cap_, selectable(heads[h])));
}

} // namespace palimpsest::engine
