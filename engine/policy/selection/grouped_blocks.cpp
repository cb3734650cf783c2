#include "engine/policy/selection/grouped_blocks.h"

#include <algorithm>
#include <numeric>

#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

uint32_t GroupedBlocks::size_of(const ListCut& list, uint32_t block) const
{
    return std::min(block_, list.candidates() - block * block_);
}

void GroupedBlocks::cut_blocks(const ListCut& list)
{
    blocks_.scores.clear();
    for (uint32_t first = 0; first < list.candidates(); first += block_) {
        const uint32_t size = std::min(block_, list.candidates() - first);
        const auto scores = list.shaped.subspan(list.first() + first, size);
        const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
        blocks_.scores.push_back(score_ == BlockScore::Sum ? sum : sum / size);
    }
    blocks_.taken.assign(blocks_.scores.size(), false);
}

void GroupedBlocks::take_best(uint32_t first, uint32_t last, uint32_t quota)
{
    auto& order = blocks_.order;
    order.clear();
    for (uint32_t block = first; block < last; ++block)
        if (!blocks_.taken[block]) order.push_back(block);
    best_first(order, quota, blocks_.scores);
    for (size_t i = 0; i < std::min<size_t>(quota, order.size()); ++i)
        blocks_.taken[order[i]] = true;
}

void GroupedBlocks::take_rounds(uint32_t quota)
{
    const auto blocks = static_cast<uint64_t>(blocks_.scores.size());
    const auto rounds = static_cast<uint32_t>(rounds_.size());
    for (uint32_t r = 0; r < rounds; ++r) {
        const uint32_t of_round = quota / rounds + (r < quota % rounds ? 1 : 0);
        const auto groups = static_cast<uint32_t>(rounds_[r]);
        // Groups behind the first `of_round` get no block.
        for (uint32_t g = 0; g < std::min(groups, of_round); ++g) {
            take_best(static_cast<uint32_t>(g * blocks / groups), static_cast<uint32_t>((g + 1) * blocks / groups),
                      of_round / groups + (g < of_round % groups ? 1 : 0));
        }
    }
}

// Fills the `left` slots that the rounds did not use: with the best blocks that still fit, then with the best
// single entries.
void GroupedBlocks::fill_up(const ListCut& list, uint32_t left, std::vector<uint32_t>& dropped)
{
    auto& order = blocks_.order;
    order.clear();
    for (uint32_t block = 0; block < blocks_.scores.size(); ++block)
        if (!blocks_.taken[block]) order.push_back(block);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return blocks_.scores[a] != blocks_.scores[b] ? blocks_.scores[a] > blocks_.scores[b] : a < b;
    });
    for (const uint32_t block : order) {
        if (size_of(list, block) > left) continue;
        blocks_.taken[block] = true;
        left -= size_of(list, block);
    }
    order.clear();
    for (uint32_t block = 0; block < blocks_.scores.size(); ++block)
        for (uint32_t i = 0; i < size_of(list, block) && !blocks_.taken[block]; ++i)
            order.push_back(list.first() + block * block_ + i);
    best_first(order, left, list.shaped);
    if (left < order.size()) dropped.assign(order.begin() + left, order.end());
    std::sort(dropped.begin(), dropped.end());
}

void GroupedBlocks::choose(const ListCut& list, std::vector<uint32_t>& dropped)
{
    cut_blocks(list);
    take_rounds(list.chosen() / block_);
    uint32_t left = list.chosen();
    for (uint32_t block = 0; block < blocks_.taken.size(); ++block)
        if (blocks_.taken[block]) left -= size_of(list, block);
    fill_up(list, left, dropped);
}

void GroupedBlocks::select(int32_t, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped)
{
    for (size_t h = 0; h < heads.size(); ++h)
        if (heads[h].excess() > 0) choose(heads[h], dropped[h]);
}

} // namespace palimpsest::engine
