#include "engine/policy/budgets/threshold_budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace palimpsest::engine {

namespace {

// Sorts entries, best score first; ties: the lower entry first.
template<class Iterator>
void sort_by_score(Iterator first, Iterator last, std::span<const double> scores)
{
    std::sort(first, last,
              [&](uint32_t a, uint32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
}

// The entry's score before pooling.
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

void NormThreshold::add_needs(SignalNeeds& needs) const
{
    if (rule_.norm == NormOf::Heads) needs.head_moments = true;
}

// Adds to each norms_[i] the norm of one head's attention to the first i entries of order_, or to the whole list if
// it is shorter.
template<class Attention>
void NormThreshold::add_norms(const Attention& attention)
{
    norms_.resize(std::max(norms_.size(), order_.size() + 1), norms_.back());
    double squares = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
        const double a = is_masked(order_[i]) ? 0.0 : attention(order_[i]);
        squares += a * a;
        norms_[i + 1] += std::sqrt(squares);
    }
    for (size_t i = order_.size() + 1; i < norms_.size(); ++i)
        norms_[i] += std::sqrt(squares);
}

void NormThreshold::add_norms_of_heads(std::span<const ListCut> heads)
{
    for (const ListCut& list : heads) {
        rank(list);
        const ListState& state = list.view.list;
        const size_t group = state.moments.size() / std::max<size_t>(2 * state.size(), 1);
        for (size_t g = 0; g < group; ++g)
            add_norms([&](uint32_t entry) {
                const size_t rank = list.view.rank(entry);
                return state.moments[2 * (rank * group + g)] / state.count[rank];
            });
    }
}

void NormThreshold::add_norm_of_scores(std::span<const ListCut> heads)
{
    for (const ListCut& list : heads) {
        rank(list);
        norms_.resize(std::max(norms_.size(), order_.size() + 1), 0.0);
        for (size_t i = 0; i < order_.size(); ++i) {
            const double a = is_masked(order_[i]) ? 0.0 : value(list, order_[i]);
            norms_[i + 1] += a * a;
        }
    }
    std::partial_sum(norms_.begin(), norms_.end(), norms_.begin());
    for (double& norm : norms_)
        norm = std::sqrt(norm);
}

// REQUIRES: the lists hold the same tokens.
void NormThreshold::add_norms_of_mean(std::span<const ListCut> heads)
{
    rank(heads.front());
    add_norms([&](uint32_t entry) {
        double sum = 0;
        for (const ListCut& list : heads) {
            const size_t rank = list.view.rank(entry);
            sum += list.view.list.sum[rank] / list.view.list.count[rank];
        }
        return sum / static_cast<double>(heads.size());
    });
}

// i*: the smallest count with 1 - (norm of the first i) / (norm of all) <= threshold; all entries if the norm is 0.
int64_t NormThreshold::smallest_count(std::span<const ListCut> heads)
{
    norms_.assign(1, 0.0);
    if (rule_.norm == NormOf::Scores) add_norm_of_scores(heads);
    if (rule_.norm == NormOf::Mean) add_norms_of_mean(heads);
    if (rule_.norm == NormOf::Heads) add_norms_of_heads(heads);
    const double all = norms_.back();
    if (!(all > 0)) return std::ssize(norms_) - 1;
    const auto enough =
        std::find_if(norms_.begin(), norms_.end(), [&](double held) { return 1 - held / all <= rule_.threshold; });
    return enough - norms_.begin();
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
