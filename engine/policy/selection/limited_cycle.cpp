#include "engine/policy/selection/limited_cycle.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace palimpsest::engine {

void LimitedCycle::OpenRanks::reset(uint32_t size)
{
    link_.resize(size + 1);
    std::iota(link_.begin(), link_.end(), 0u);
}

uint32_t LimitedCycle::OpenRanks::from(uint32_t rank)
{
    while (link_[rank] != rank)
        rank = link_[rank] = link_[link_[rank]];
    return rank;
}

LimitedCycle::LimitedCycle(const std::vector<int32_t>& slots, int32_t limit) : limit_(static_cast<uint32_t>(limit))
{
    for (const int32_t of_list : slots)
        lists_.push_back({.cursor = 0, .heights = std::vector<uint32_t>(static_cast<size_t>(of_list), 0)});
}

void LimitedCycle::next_tiles(size_t list, const Extent& extent, std::vector<uint32_t>& tiles)
{
    HeightsOf& state = lists_[list];
    const uint32_t slots = extent.slots, first = extent.first;
    heights_.assign(extent.size, 0);
    std::copy(state.heights.begin(), state.heights.end(), heights_.begin() + first);
    places_.reset(extent.size);
    open_.reset(extent.size);
    for (uint32_t place = first; place < first + slots; ++place) {
        if (heights_[place] >= limit_) open_.close(place);
    }

    uint32_t cursor = first + state.cursor;
    uint32_t last = first + slots - 1; // newest place of the region
    for (uint32_t size = extent.size; size > extent.budget; --size) {
        uint32_t left = open_.from(cursor);
        if (left > last) left = open_.from(first);
        if (left > last) left = first;
        const uint32_t right = places_.next(left);
        tiles.insert(tiles.end(), {left, right});

        const uint32_t highest = std::max(heights_[left], heights_[right]);
        heights_[left] = highest + 1;
        open_.close(right);
        if (heights_[left] >= limit_) open_.close(left);
        const bool at_end = left == last;
        if (!at_end) last = places_.next(last); // the next entry enters the region for the evicted one
        places_.join(left, places_.next(right));
        cursor = at_end ? first : places_.next(left);
    }

    uint32_t place = first;
    for (uint32_t i = 0; i < slots; ++i, place = places_.next(place)) {
        state.heights[i] = heights_[place];
        if (place == cursor) state.cursor = i;
    }
}

void LimitedCycle::save(StateWriter& out) const
{
    for (const HeightsOf& list : lists_) {
        out.word(list.cursor);
        for (const uint32_t height : list.heights)
            out.word(height);
    }
}

void LimitedCycle::load(StateReader& in)
{
    for (HeightsOf& list : lists_) {
        const auto slots = static_cast<uint32_t>(list.heights.size());
        list.cursor = in.word_within(Text("cursor"), 0, std::max(slots, 1u) - 1);
        constexpr uint32_t highest = 1u << 31; // a height grows by one per pair, so no stream reaches this
        for (uint32_t& height : list.heights) {
            height = in.word_within(Text("height"), 0, highest);
        }
    }
}

} // namespace palimpsest::engine
