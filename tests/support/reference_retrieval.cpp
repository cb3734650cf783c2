#include "tests/support/reference_retrieval.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/reference_shaping.h"

namespace palimpsest::tests {

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b)
{
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Upper bound of the product of the query with any key of the page.
double page_bound(const std::vector<double>& query, const ReferenceVectors& keys, size_t first, size_t last)
{
    double bound = 0;
    for (size_t d = 0; d < query.size(); ++d) {
        double least = keys[first][d], greatest = keys[first][d];
        for (size_t j = first; j < last; ++j) {
            least = std::min(least, keys[j][d]);
            greatest = std::max(greatest, keys[j][d]);
        }
        bound += std::max(query[d] * least, query[d] * greatest);
    }
    return bound;
}

std::vector<int> ranks_of_best_pages(const ReferenceSettings& settings, const ReferenceVectors& queries,
                                     const ReferenceVectors& keys, double& margin)
{
    const auto page = static_cast<size_t>(settings.page);
    const size_t pages = (keys.size() + page - 1) / page;
    std::vector<double> bounds; // of all but the last page, which is always read
    for (size_t p = 0; p + 1 < pages; ++p) {
        double mean = 0;
        for (const auto& query : queries)
            mean += page_bound(query, keys, p * page, (p + 1) * page) / static_cast<double>(queries.size());
        bounds.push_back(mean);
    }
    const auto others = static_cast<size_t>(std::max(3, settings.c / settings.page) - 1);
    if (others < bounds.size()) {
        std::vector<double> ordered = bounds;
        std::sort(ordered.begin(), ordered.end(), std::greater<>());
        const double largest = std::max(std::abs(ordered.front()), std::abs(ordered.back()));
        margin = std::min(margin, (ordered[others - 1] - ordered[others]) / largest);
    }
    std::vector<int> chosen = top_k(bounds, static_cast<int>(others));
    chosen.push_back(static_cast<int>(pages) - 1);
    std::vector<int> ranks;
    for (const int p : chosen)
        for (int j = p * settings.page; j < std::min((p + 1) * settings.page, static_cast<int>(keys.size())); ++j)
            ranks.push_back(j);
    return ranks;
}

} // namespace

std::vector<int> smallest_mass(const std::vector<int>& ranks, const std::vector<double>& logits, double p,
                               double& margin)
{
    const double largest = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const double logit : logits)
        total += std::exp(logit - largest);
    std::vector<int> out;
    double mass = 0;
    for (const int i : best_first(logits)) {
        margin = std::min(margin, std::abs(mass / total - p));
        if (mass / total >= p - 1e-12) break;
        mass += std::exp(logits[static_cast<size_t>(i)] - largest);
        out.push_back(ranks[static_cast<size_t>(i)]);
    }
    std::sort(out.begin(), out.end());
    return out;
}

std::vector<std::vector<int>> retrieved(const ReferenceSettings& settings, int layer,
                                        const ReferenceVectors& queries, const ReferenceVectors& keys,
                                        double& margin)
{
    std::vector<int> ranks(keys.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const bool all = layer < settings.skip_layers;
    if (!all && static_cast<int>(keys.size()) > settings.c)
        ranks = ranks_of_best_pages(settings, queries, keys, margin);
    std::vector<std::vector<int>> out(queries.size(), ranks);
    if (all || settings.name != "twilight") return out;
    for (size_t g = 0; g < queries.size(); ++g) {
        std::vector<double> logits;
        logits.reserve(ranks.size());
        for (const int rank : ranks)
            logits.push_back(dot(queries[g], keys[static_cast<size_t>(rank)]) /
                             std::sqrt(static_cast<double>(queries[g].size())));
        out[g] = smallest_mass(ranks, logits, settings.p, margin);
    }
    return out;
}

} // namespace palimpsest::tests
