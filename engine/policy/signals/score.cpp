#include "engine/policy/signals/score.h"

#include <algorithm>
#include <functional>

#include "engine/policy/signals/score_loops.h"

namespace palimpsest::engine {

namespace {

struct Moments {
    double sum = 0, squares = 0, count = 0;

    double variance() const
    {
        return count <= 1 ? 0.0 : std::max(0.0, (squares - sum * sum / count) / (count - 1));
    }
};

size_t group_of(const ListState& list)
{
    return list.moments.size() / (2 * list.size());
}

Moments moments_of(const ListState& list, size_t rank, size_t head, size_t group)
{
    const size_t at = 2 * (rank * group + head);
    return {list.moments[at], list.moments[at + 1], list.count[rank]};
}

bool is_negated(ScoreKind kind)
{
    return kind == ScoreKind::FewLow || kind == ScoreKind::SmallNorm || kind == ScoreKind::Dissimilar;
}

} // namespace

SignalNeeds Signal::needs() const
{
    return {.window = window,
            .window_percent = window_percent,
            .low_counts = kind == ScoreKind::FewLow,
            .key_norms = kind == ScoreKind::SmallNorm,
            .key_similarities = kind == ScoreKind::Dissimilar,
            .head_moments = kind == ScoreKind::MeanVariance,
            .outside_newest = outside_newest};
}

void ScoreView::read(std::span<double> to) const
{
    if (to.empty()) return;
    const ListState& list = view.list;
    if (signal.kind == ScoreKind::Mean && view.ranks.empty()) {
        divide(list.sum.data(), list.count.data(), to);
    } else if (signal.kind == ScoreKind::MeanVariance && view.ranks.empty()) {
        mean_and_variance(list.moments.data(), list.count.data(), group_of(list), signal.gamma, to);
    } else if (signal.kind == ScoreKind::Total && view.ranks.empty()) {
        std::copy_n(list.sum.data(), to.size(), to.data());
    } else if (is_negated(signal.kind) && view.ranks.empty()) {
        std::transform(list.sum.begin(), list.sum.begin() + std::ssize(to), to.begin(), std::negate());
    } else {
        for (size_t i = 0; i < to.size(); ++i)
            to[i] = (*this)(i);
    }
}

double ScoreView::mean_variance(size_t rank) const
{
    const size_t group = group_of(view.list);
    double total = 0;
    for (size_t g = 0; g < group; ++g) {
        const Moments m = moments_of(view.list, rank, g, group);
        total += m.sum / m.count + signal.gamma * m.variance();
    }
    return total / static_cast<double>(group);
}

double ScoreView::variances(size_t rank) const
{
    const size_t group = group_of(view.list);
    double total = 0;
    for (size_t g = 0; g < group; ++g)
        total += moments_of(view.list, rank, g, group).variance();
    return total;
}

} // namespace palimpsest::engine
