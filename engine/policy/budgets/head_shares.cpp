#include "engine/policy/budgets/head_shares.h"

#include <algorithm>

#include "engine/policy/budgets/allocate.h"

namespace palimpsest::engine {

HeadShares::HeadShares(std::unique_ptr<Budget> layers, int32_t kv_heads, double floor, int64_t most)
    : layers_(std::move(layers)), kv_heads_(kv_heads), floor_(floor), most_(most)
{
}

HeadShares::HeadShares(const HeadShares& other)
    : Budget(other), layers_(other.layers_->clone()), kv_heads_(other.kv_heads_), floor_(other.floor_),
      most_(other.most_)
{
}

int32_t HeadShares::most(int32_t layer) const
{
    return static_cast<int32_t>(std::min(int64_t{layers_->most(layer)} * kv_heads_, most_));
}

std::span<const Candidate> HeadShares::best_of(std::span<const ListCut> heads, size_t count)
{
    candidates_.clear();
    for (uint32_t h = 0; h < heads.size(); ++h)
        for (uint32_t entry = heads[h].first(); entry < heads[h].end(); ++entry)
            candidates_.push_back({heads[h].shaped[entry], h, entry});
    count = std::min(count, candidates_.size());
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count),
                     candidates_.end());
    return std::span(candidates_).first(count);
}

// Sets counts[h], Ada-KV's D_h: how many of the layer's `best` best candidates belong to head h.
void HeadShares::count_best(std::span<const ListCut> heads, size_t best, std::vector<double>& counts)
{
    size_t all = 0;
    for (size_t h = 0; h < heads.size(); ++h) {
        counts[h] = heads[h].candidates();
        all += heads[h].candidates();
    }
    if (all <= best) return;
    constexpr size_t few = 4; // per head; so few evicted entries are found faster than the kept ones
    const bool from_below = all - best <= few * heads.size();
    if (!from_below) std::fill(counts.begin(), counts.end(), 0.0);
    for (const Candidate& candidate : from_below ? worst_.collect(heads, all - best) : best_of(heads, best))
        counts[candidate.head] += from_below ? -1 : 1;
}

void HeadShares::slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result)
{
    layers_->slots(layer, heads, result);
    int64_t pool = 0;
    std::vector<int64_t> limits;
    for (size_t h = 0; h < heads.size(); ++h) {
        pool += result[h];
        limits.push_back(std::min<int64_t>(heads[h].candidates(), most_));
    }
    std::vector<double> best(heads.size(), 0.0), weights;
    count_best(heads, static_cast<size_t>(pool), best);
    for (size_t h = 0; h < heads.size(); ++h)
        weights.push_back(floor_ * result[h] + (1 - floor_) * best[h]);
    const auto shares = allocate(weights, pool, limits);
    std::copy(shares.begin(), shares.end(), result.begin());
}

} // namespace palimpsest::engine
