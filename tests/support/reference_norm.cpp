#include "tests/support/reference_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace palimpsest::tests {

namespace {

using Row = std::vector<double>;

Row mean_row(const std::vector<const ReferenceList*>& lists)
{
    Row mean(lists.front()->size(), 0.0);
    for (const ReferenceList* list : lists)
        for (size_t j = 0; j < mean.size(); ++j)
            mean[j] += list->at(j).sum / list->at(j).count / static_cast<double>(lists.size());
    return mean;
}

// The mean attention that each query head gives the entries of its list: [query head][rank].
std::vector<Row> rows_of(const ReferenceList& list)
{
    std::vector<Row> rows(list.empty() ? 0 : list.front().moments.size());
    for (size_t g = 0; g < rows.size(); ++g)
        for (const ReferenceEntry& entry : list)
            rows[g].push_back(entry.moments[g].sum / entry.count);
    return rows;
}

// The norms of the first i entries of `order`, for i = 0 ... n.
Row norms_of_first(const ReferenceSettings& settings, const Row& row, const std::vector<int>& order)
{
    Row norms = {0};
    double squares = 0;
    for (const int rank : order) {
        const double a = rank < settings.mask_sinks ? 0 : row[static_cast<size_t>(rank)];
        squares += a * a;
        norms.push_back(std::sqrt(squares));
    }
    return norms;
}

} // namespace

std::vector<int> refreekv_order(const ReferenceSettings& settings, const std::vector<double>& score,
                                bool by_position)
{
    const int n = static_cast<int>(score.size());
    std::vector<int> order;
    order.reserve(score.size());
    for (int j = 0; j < std::min(n, settings.s); ++j)
        order.push_back(j);
    for (int j = n - 1; j >= settings.s; --j)
        order.push_back(j);
    if (by_position) return order;
    const int first = std::min(n, settings.s + settings.w); // sinks and recent tokens stay first
    std::sort(order.begin() + first, order.end(), [&](int a, int b) {
        const double x = score[static_cast<size_t>(a)], y = score[static_cast<size_t>(b)];
        return x != y ? x > y : a < b;
    });
    return order;
}

int norm_count(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
               const std::vector<std::vector<int>>& orders)
{
    std::vector<Row> heads; // norms_of_first(), for each query head or for their mean
    if (settings.norm_of_mean) heads.push_back(norms_of_first(settings, mean_row(lists), orders.front()));
    for (size_t h = 0; h < lists.size() && !settings.norm_of_mean; ++h)
        for (const Row& row : rows_of(*lists[h]))
            heads.push_back(norms_of_first(settings, row, orders[h]));
    size_t longest = 0;
    double all = 0;
    for (const Row& norms : heads) {
        longest = std::max(longest, norms.size() - 1);
        all += norms.back();
    }
    for (size_t i = 0; i < longest; ++i) {
        double held = 0;
        for (const Row& norms : heads)
            held += norms[std::min(i, norms.size() - 1)];
        if (1 - held / all <= settings.threshold) return static_cast<int>(i);
    }
    return static_cast<int>(longest);
}

int norm_count_of_scores(const ReferenceSettings& settings, const std::vector<std::vector<double>>& scores,
                         const std::vector<std::vector<int>>& orders)
{
    Row squares; // summed over lists, by index in the order
    for (size_t h = 0; h < scores.size(); ++h) {
        squares.resize(std::max(squares.size(), orders[h].size()), 0.0);
        for (size_t i = 0; i < orders[h].size(); ++i)
            if (orders[h][i] >= settings.mask_sinks)
                squares[i] += std::pow(scores[h][static_cast<size_t>(orders[h][i])], 2);
    }
    const double all = std::accumulate(squares.begin(), squares.end(), 0.0);
    double held = 0;
    for (size_t i = 0; i < squares.size(); ++i) {
        if (all > 0 && 1 - std::sqrt(held) / std::sqrt(all) <= settings.threshold) return static_cast<int>(i);
        held += squares[i];
    }
    return static_cast<int>(squares.size());
}

} // namespace palimpsest::tests
