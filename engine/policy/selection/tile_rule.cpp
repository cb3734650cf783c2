#include "engine/policy/selection/tile_rule.h"

#include <algorithm>

namespace palimpsest::engine {

void HigherScore::apply(int32_t, std::span<const uint32_t> tile, const ScoreView& score,
                        std::span<uint32_t> entries, std::vector<uint32_t>& dropped) const
{
    const uint32_t left = entries[tile[0]];
    const uint32_t right = entries[tile[1]];
    const bool keep_left = score(left) > score(right);
    entries[tile[0]] = keep_left ? left : right;
    dropped.push_back(keep_left ? right : left);
}

void BestOfTile::apply(int32_t, std::span<const uint32_t> tile, const ScoreView& score, std::span<uint32_t> entries,
                       std::vector<uint32_t>& dropped) const
{
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t offset = 0; offset < tile.size(); ++offset)
        ranked.emplace_back(-ordered(score(entries[tile[offset]])), offset);
    std::sort(ranked.begin(), ranked.end());
    std::sort(ranked.begin(), ranked.begin() + kept_,
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (size_t i = kept_; i < ranked.size(); ++i)
        dropped.push_back(entries[tile[ranked[i].second]]);
    for (size_t i = 0; i < kept_; ++i) // offsets ascend, so nothing is overwritten before it is read
        entries[tile[i]] = entries[tile[ranked[i].second]];
}

void FixedOffsets::apply(int32_t layer, std::span<const uint32_t> tile, const ScoreView&,
                         std::span<uint32_t> entries, std::vector<uint32_t>& dropped) const
{
    const auto& kept = kept_[static_cast<size_t>(layer)];
    size_t stayed = 0;
    for (size_t offset = 0; offset < tile.size(); ++offset) {
        const uint32_t entry = entries[tile[offset]];
        if (stayed < kept.size() && kept[stayed] == offset) {
            entries[tile[stayed++]] = entry;
        } else {
            dropped.push_back(entry);
        }
    }
}

} // namespace palimpsest::engine
