#include "engine/policy/score.h"

#include <algorithm>

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

} // namespace

SignalNeeds Signal::needs() const
{
    return {.window = window,
            .window_percent = window_percent,
            .low_counts = kind == ScoreKind::FewLow,
            .head_moments = kind == ScoreKind::MeanVariance,
            .outside_newest = outside_newest};
}

void ScoreView::read(std::span<double> to) const
{
    if (signal.kind == ScoreKind::Mean && view.ranks.empty()) {
        const double *sum = view.list.sum.data(), *count = view.list.count.data();
        double* score = to.data();
        for (size_t i = 0, n = to.size(); i < n; ++i)
            score[i] = sum[i] / count[i];
        return;
    }
    if (signal.kind == ScoreKind::MeanVariance && view.ranks.empty()) return read_mean_variance(to);
    for (size_t i = 0; i < to.size(); ++i)
        to[i] = (*this)(i);
}

void ScoreView::read_mean_variance(std::span<double> to) const
{
    const size_t group = group_of(view.list), n = to.size();
    const double* count = view.list.count.data();
    double* score = to.data();
    std::fill(to.begin(), to.end(), 0.0);
    for (size_t g = 0; g < group; ++g) {
        const double* moments = view.list.moments.data() + 2 * g;
        for (size_t i = 0; i < n; ++i, moments += 2 * group) {
            const Moments m{moments[0], moments[1], count[i]};
            score[i] += m.sum / m.count + signal.gamma * m.variance();
        }
    }
    for (size_t i = 0; i < n; ++i)
        score[i] /= static_cast<double>(group);
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
