#include "tests/unit/session/own_policy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace palimpsest::tests {

using engine::ListState;

// Reduces random lists by random amounts until the total fits, so that budgets are very uneven.
std::vector<int64_t> RandomShares::budgets(std::span<const int64_t> lengths, int64_t total, uint64_t salt) const
{
    std::mt19937_64 random(seed_ * 1000003 + salt);
    std::vector<int64_t> kept(lengths.begin(), lengths.end());
    for (int64_t& k : kept)
        k = std::min<int64_t>(k, limit_);
    int64_t sum = std::accumulate(kept.begin(), kept.end(), int64_t{0});
    while (sum > total) {
        int64_t& k = kept[random() % kept.size()];
        const int64_t take = std::min<int64_t>(k - 1, static_cast<int64_t>(random() % 200));
        const int64_t taken = std::min(take, sum - total);
        k -= taken;
        sum -= taken;
    }
    return kept;
}

void RandomShares::observe(int32_t layer, std::span<const ListState> heads, const engine::LayerObservation&)
{
    for (size_t h = 0; h < heads.size(); ++h)
        lengths_[static_cast<size_t>(layer)][h] = static_cast<int64_t>(heads[h].size());
}

void RandomShares::select(int32_t layer, std::span<const ListState> heads,
                          std::vector<std::vector<uint32_t>>& dropped)
{
    const uint64_t step = steps_[static_cast<size_t>(layer)]++;
    std::vector<int64_t> kept;
    if (coupled_) {
        std::vector<int64_t> all;
        for (const auto& lengths : lengths_)
            all.insert(all.end(), lengths.begin(), lengths.end());
        kept = budgets(all, total_, step);
        kept.erase(kept.begin(), kept.begin() + layer * kv_heads_);
        kept.resize(heads.size());
    } else {
        kept = budgets(lengths_[static_cast<size_t>(layer)], total_ / layers_,
                       step * 131 + static_cast<uint64_t>(layer));
    }
    std::mt19937_64 random(seed_ + step * 7 + static_cast<uint64_t>(layer));
    dropped.assign(heads.size(), {});
    for (size_t h = 0; h < heads.size(); ++h) {
        std::vector<uint32_t> ranks(heads[h].size());
        std::iota(ranks.begin(), ranks.end(), 0u);
        std::shuffle(ranks.begin(), ranks.end(), random);
        ranks.resize(ranks.size() - static_cast<size_t>(kept[h]));
        std::sort(ranks.begin(), ranks.end());
        dropped[h] = ranks;
    }
}

std::vector<std::byte> RandomShares::state() const
{
    const auto bytes = std::as_bytes(std::span(steps_));
    return {bytes.begin(), bytes.end()};
}

void RandomShares::restore(std::span<const std::byte> state)
{
    std::memcpy(steps_.data(), state.data(), steps_.size() * sizeof(uint64_t));
}

} // namespace palimpsest::tests
