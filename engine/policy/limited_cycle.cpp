#include "engine/policy/limited_cycle.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace palimpsest::engine {

namespace {

// The next rank at or after another that may still be the left of a pair. Ranks only ever close, so paths can be
// shortened as they are walked and a whole walk stays linear.
class OpenRanks {
public:
    explicit OpenRanks(uint32_t size) : link_(size + 1) { std::iota(link_.begin(), link_.end(), 0u); }

    void close(uint32_t rank) { link_[rank] = rank + 1; }
    uint32_t from(uint32_t rank)
    {
        while (link_[rank] != rank)
            rank = link_[rank] = link_[link_[rank]];
        return rank;
    }

private:
    std::vector<uint32_t> link_; // one more than the list: the end is always open
};

} // namespace

LimitedCycle::LimitedCycle(const std::vector<int32_t>& slots, int32_t limit) : limit_(static_cast<uint32_t>(limit))
{
    for (const int32_t of_list : slots)
        lists_.push_back({.cursor = 0, .heights = std::vector<uint32_t>(static_cast<size_t>(of_list), 0)});
}

void LimitedCycle::walk(size_t list, const Extent& extent, std::vector<uint32_t>& tiles)
{
    HeightsOf& state = lists_[list];
    const uint32_t slots = extent.slots, first = extent.first;
    std::vector<uint32_t> heights(extent.size, 0); // by rank before eviction
    std::copy(state.heights.begin(), state.heights.end(), heights.begin() + first);
    places_.reset(extent.size);
    OpenRanks open(extent.size);
    for (uint32_t place = first; place < first + slots; ++place) {
        if (heights[place] >= limit_) open.close(place);
    }

    uint32_t cursor = first + state.cursor;
    uint32_t last = first + slots - 1; // newest place of the region
    for (uint32_t size = extent.size; size > extent.budget; --size) {
        uint32_t left = open.from(cursor);
        if (left > last) left = open.from(first);
        if (left > last) left = first;
        const uint32_t right = places_.next(left);
        tiles.insert(tiles.end(), {left, right});

        const uint32_t highest = std::max(heights[left], heights[right]);
        heights[left] = highest + 1;
        open.close(right);
        if (heights[left] >= limit_) open.close(left);
        const bool at_end = left == last;
        if (!at_end) last = places_.next(last); // the region takes in one entry for the one that left
        places_.join(left, places_.next(right));
        cursor = at_end ? first : places_.next(left);
    }

    uint32_t place = first;
    for (uint32_t i = 0; i < slots; ++i, place = places_.next(place)) {
        state.heights[i] = heights[place];
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
        list.cursor = in.word_within("cursor", 0, std::max(slots, 1u) - 1);
        constexpr uint32_t highest = 1u << 31; // a height grows by one per merge: no stream reaches it, or wraps
        for (uint32_t& height : list.heights) {
            height = in.word_within("height", 0, highest);
        }
    }
}

} // namespace palimpsest::engine
