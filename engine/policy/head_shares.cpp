#include "engine/policy/head_shares.h"

#include <algorithm>

#include "engine/policy/allocate.h"

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

// D_h: how many of the best candidates of all heads are this head's. Order: score, head, entry.
void HeadShares::count_best(std::span<const ListCut> heads, size_t best, std::vector<double>& counts)
{
    candidates_.clear();
    for (uint32_t h = 0; h < heads.size(); ++h)
        for (uint32_t entry = heads[h].first(); entry < heads[h].end(); ++entry)
            candidates_.push_back({heads[h].shaped[entry], h, entry});
    const auto better = [](const Candidate& a, const Candidate& b) {
        if (a.score != b.score) return a.score > b.score;
        return a.head != b.head ? a.head < b.head : a.entry < b.entry;
    };
    if (best < candidates_.size()) {
        const auto cut = candidates_.begin() + static_cast<std::ptrdiff_t>(best);
        std::nth_element(candidates_.begin(), cut, candidates_.end(), better);
        candidates_.erase(cut, candidates_.end());
    }
    for (const Candidate& candidate : candidates_)
        counts[candidate.head] += 1;
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
