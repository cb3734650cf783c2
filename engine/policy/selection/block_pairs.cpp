#include "engine/policy/selection/block_pairs.h"

#include <algorithm>

namespace palimpsest::engine {

BlockPairs::BlockPairs(int32_t layers, int32_t unit, int32_t slots, bool by_score)
    : unit_(static_cast<uint32_t>(unit)), by_score_(by_score),
      pairs_(static_cast<size_t>(layers), slots / unit, TileShape{.size = 2, .kept = 1})
{
}

void BlockPairs::next_tiles(int32_t layer, const ListCut& list)
{
    tiles_.clear();
    if (list.excess() == 0) return;
    const uint32_t evicted = (list.excess() + unit_ - 1) / unit_;
    const uint32_t blocks = (list.size() - list.first()) / unit_;
    pairs_.next_tiles(static_cast<size_t>(layer),
                      {.size = blocks, .budget = blocks - evicted, .first = 0, .slots = list.slots / unit_},
                      tiles_);
}

void BlockPairs::select(int32_t layer, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped)
{
    next_tiles(layer, heads.front());
    if (tiles_.empty()) return;
    for (size_t h = 0; h < heads.size(); ++h) {
        if (h > 0 && !by_score_)
            dropped[h] = dropped[0];
        else
            apply(heads[h], dropped[h]);
    }
}

kernels::SelectionRule BlockPairs::rule() const
{
    if (!by_score_) return {};
    return {.select = kernels::SelectRule::Tiles, .tile = 2, .kept = 1, .unit = static_cast<int32_t>(unit_)};
}

void BlockPairs::plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan)
{
    next_tiles(layer, heads.front());
    if (tiles_.empty()) return;
    kernels::ListPlan& list = plan.list(0);
    list.evicted = static_cast<uint32_t>(tiles_.size() / 2) * unit_;
    list.first = heads.front().first();
    if (by_score_) {
        waves_.sort(tiles_, 2);
        waves_.add_to(plan, list);
    } else {
        given_.clear();
        apply(heads.front(), given_);
        list.data = plan.add(given_);
    }
    for (size_t h = 1; h < heads.size(); ++h)
        plan.repeat(0, h);
}

double BlockPairs::score(const ListCut& list, uint32_t block) const
{
    double total = 0;
    for (uint32_t i = 0; i < unit_; ++i)
        total += list.score(list.first() + block * unit_ + i);
    return total / unit_;
}

void BlockPairs::apply(const ListCut& list, std::vector<uint32_t>& dropped)
{
    blocks_.resize((list.size() - list.first()) / unit_ + 1);
    for (const uint32_t place : tiles_)
        blocks_[place] = place;
    for (size_t at = 0; at < tiles_.size(); at += 2) {
        const uint32_t left = blocks_[tiles_[at]], right = blocks_[tiles_[at + 1]];
        const bool keep_left = !by_score_ || score(list, left) > score(list, right);
        blocks_[tiles_[at]] = keep_left ? left : right;
        const uint32_t gone = list.first() + (keep_left ? right : left) * unit_;
        for (uint32_t i = 0; i < unit_; ++i)
            dropped.push_back(gone + i);
    }
    std::sort(dropped.begin(), dropped.end());
}

} // namespace palimpsest::engine
