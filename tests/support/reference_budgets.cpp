#include "tests/support/reference_budgets.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/reference_norm.h"
#include "tests/support/reference_shaping.h"

namespace palimpsest::tests {

namespace {

int candidates_in(const ReferenceSettings& settings, int n)
{
    return std::max(0, n - settings.s - settings.w);
}

// Mean over KV heads by rank; ranks beyond a head's list count as 0.
std::vector<double> mean_over_heads(const std::vector<std::vector<double>>& scores)
{
    std::vector<double> mean;
    for (const auto& head : scores) {
        mean.resize(std::max(mean.size(), head.size()), 0.0);
        for (size_t j = 0; j < head.size(); ++j)
            mean[j] += head[j];
    }
    for (double& x : mean)
        x /= static_cast<double>(scores.size());
    return mean;
}

std::vector<double> pooled_prefix(const ReferenceSettings& settings, const std::vector<double>& score)
{
    const auto prefix = static_cast<std::ptrdiff_t>(
        std::max<size_t>(score.size(), static_cast<size_t>(settings.w)) - static_cast<size_t>(settings.w));
    std::vector<double> out = pool({score.begin(), score.begin() + prefix}, settings.kernel, settings.pooling);
    out.insert(out.end(), score.begin() + prefix, score.end());
    return out;
}

// budget=auto: the smallest number of entries, best first, that hold 1 - threshold of the norm of the heads'
// attention. The entries of each list are ordered by that list's own scores.
int slots_by_norm(const ReferenceSettings& settings, const ReferenceLayer& layer)
{
    std::vector<std::vector<int>> orders;
    for (size_t h = 0; h < layer.lists.size(); ++h) {
        const int n = static_cast<int>(layer.lists[h]->size());
        std::vector<int> order, rest;
        for (int j = 0; j < n; ++j)
            (j < settings.s || j >= n - settings.w ? order : rest).push_back(j);
        std::stable_sort(rest.begin(), rest.end(), [&](int a, int b) {
            return layer.shaped[h][static_cast<size_t>(a)] > layer.shaped[h][static_cast<size_t>(b)];
        });
        order.insert(order.end(), rest.begin(), rest.end());
        orders.push_back(order);
    }
    const int least = settings.s + settings.w + 1;
    const int count = settings.norm_of_scores ? norm_count_of_scores(settings, layer.plain, orders)
                                              : norm_count(settings, layer.lists, orders);
    return std::min(std::max(count, least), settings.c) - settings.s - settings.w;
}

// Divides the slots by a fixed layer profile. With schedule=once, the length of the text is known: short texts get
// equal slots, and no layer gets more than it has candidates, unless a limit of tree heights needs fixed slots.
std::vector<int> slots_by_profile(const ReferenceSettings& settings, const std::vector<ReferenceLayer>& layers)
{
    const int count = static_cast<int>(layers.size()), m = settings.selectable();
    const bool fits_text = settings.once && settings.height == 0;
    std::vector<int> limits;
    for (const ReferenceLayer& layer : layers) {
        if (fits_text && layer.longest() <= 2 * m) return std::vector<int>(layers.size(), m);
        limits.push_back(fits_text ? candidates_in(settings, layer.longest()) : std::numeric_limits<int>::max());
    }
    return allocate(pyramid_profile(settings.budgets, count, settings.beta), count * m, limits);
}

std::vector<int> slots_of_layers(const ReferenceSettings& settings, const std::vector<ReferenceLayer>& layers)
{
    const int count = static_cast<int>(layers.size()), m = settings.selectable();
    if (settings.budgets == "uniform") return std::vector<int>(layers.size(), m);
    long double largest = 0;
    for (const ReferenceLayer& layer : layers)
        largest = std::max(largest, layer.weight);
    std::vector<double> weights;
    std::vector<int> limits, slots;
    for (const ReferenceLayer& layer : layers) {
        weights.push_back(largest > 0 ? static_cast<double>(layer.weight / largest) : 0.0);
        limits.push_back(std::min(candidates_in(settings, layer.longest()), 2 * m));
        if (settings.budgets == "auto") slots.push_back(slots_by_norm(settings, layer));
    }
    if (settings.budgets == "auto") return slots;
    if (settings.budgets == "observed" || settings.budgets == "cake") return allocate(weights, count * m, limits);
    return slots_by_profile(settings, layers);
}

// For each head: how many of its candidates are among the layer's best `total` (docs/policies-spec.md, adakv).
std::vector<int> best_of_heads(const ReferenceSettings& settings, const ReferenceLayer& layer, int total)
{
    std::vector<double> scores;
    std::vector<size_t> heads;
    for (size_t h = 0; h < layer.shaped.size(); ++h) {
        const int end = static_cast<int>(layer.shaped[h].size()) - settings.w;
        for (int j = settings.s; j < end; ++j) {
            scores.push_back(layer.shaped[h][static_cast<size_t>(j)]);
            heads.push_back(h);
        }
    }
    std::vector<int> count(layer.shaped.size(), 0);
    for (const int i : top_k(scores, total))
        ++count[heads[static_cast<size_t>(i)]];
    return count;
}

std::vector<int> shared_by_heads(const ReferenceSettings& settings, const ReferenceLayer& layer, int m, int most)
{
    const int heads = static_cast<int>(layer.lists.size());
    std::vector<double> weights;
    std::vector<int> limits;
    for (const int best : best_of_heads(settings, layer, heads * m))
        weights.push_back(settings.floor * m + (1 - settings.floor) * best);
    for (const ReferenceList* list : layer.lists)
        limits.push_back(std::max(0, std::min(candidates_in(settings, static_cast<int>(list->size())), most)));
    return allocate(weights, heads * m, limits);
}

} // namespace

int ReferenceLayer::longest() const
{
    size_t n = 0;
    for (const ReferenceList* list : lists)
        n = std::max(n, list->size());
    return static_cast<int>(n);
}

std::vector<std::vector<double>> plain_scores(const ReferenceSettings& settings,
                                              const std::vector<const ReferenceList*>& lists)
{
    std::vector<std::vector<double>> scores;
    for (const ReferenceList* list : lists) {
        scores.emplace_back();
        for (const ReferenceEntry& entry : *list)
            scores.back().push_back(score_of(settings, entry));
    }
    if (settings.layer_mean) {
        const std::vector<double> mean = mean_over_heads(scores);
        for (auto& head : scores)
            head.assign(mean.begin(), mean.begin() + static_cast<std::ptrdiff_t>(head.size()));
    }
    return scores;
}

std::vector<std::vector<double>> pooled_scores(const ReferenceSettings& settings,
                                               std::vector<std::vector<double>> scores)
{
    for (auto& head : scores)
        head = pooled_prefix(settings, head);
    return scores;
}

long double cake_preference(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
                            const std::vector<std::vector<double>>& entropies)
{
    long double entropy = 0, variance = 0;
    for (size_t h = 0; h < lists.size(); ++h) {
        for (size_t j = 0; j + static_cast<size_t>(settings.w) < lists[h]->size(); ++j) {
            const ReferenceEntry& entry = (*lists[h])[j];
            entropy += entropies[h][j];
            for (const ReferenceMoments& moments : entry.moments)
                variance += variance_over_rows(moments, entry.count);
        }
    }
    entropy = std::max(0.0L, entropy); // -ln(1 + 1e-10) if one entry has all the attention
    return std::pow(entropy, 1 / static_cast<long double>(settings.tau1)) *
           std::pow(variance, 1 / static_cast<long double>(settings.tau2));
}

std::vector<std::vector<int>> slots_of(const ReferenceSettings& settings, const std::vector<ReferenceLayer>& layers,
                                       int most)
{
    const std::vector<int> by_layer = slots_of_layers(settings, layers);
    std::vector<std::vector<int>> out;
    for (size_t l = 0; l < layers.size(); ++l) {
        if (settings.shared_by_heads)
            out.push_back(shared_by_heads(settings, layers[l], by_layer[l], most));
        else
            out.emplace_back(layers[l].lists.size(), by_layer[l]);
    }
    return out;
}

} // namespace palimpsest::tests
