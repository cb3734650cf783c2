#include "tests/support/reference_norm.h"

#include <algorithm>
#include <cmath>

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

// The mean attention on the entries of a list, by rank: of each query head, or of all that share it.
std::vector<Row> rows_of(const ReferenceSettings& settings, const ReferenceList& list)
{
    if (settings.norm_of_lists) return {mean_row({&list})};
    std::vector<Row> rows(list.empty() ? 0 : list.front().moments.size());
    for (size_t g = 0; g < rows.size(); ++g)
        for (const ReferenceEntry& entry : list)
            rows[g].push_back(entry.moments[g].sum / entry.count);
    return rows;
}

// The norm of the first i entries of an order, for i = 0 to all.
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
    for (int j = 0; j < std::min(n, settings.s); ++j)
        order.push_back(j);
    for (int j = n - 1; j >= settings.s; --j)
        order.push_back(j);
    if (by_position) return order;
    const int first = std::min(n, settings.s + settings.w); // sinks and the newest stand before the rest
    std::sort(order.begin() + first, order.end(), [&](int a, int b) {
        const double x = score[static_cast<size_t>(a)], y = score[static_cast<size_t>(b)];
        return x != y ? x > y : a < b;
    });
    return order;
}

int norm_count(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
               const std::vector<std::vector<int>>& orders)
{
    std::vector<Row> heads; // norms of the first i entries
    if (settings.norm_of_mean) heads.push_back(norms_of_first(settings, mean_row(lists), orders.front()));
    for (size_t h = 0; h < lists.size() && !settings.norm_of_mean; ++h)
        for (const Row& row : rows_of(settings, *lists[h]))
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

} // namespace palimpsest::tests
