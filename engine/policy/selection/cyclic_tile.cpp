#include "engine/policy/selection/cyclic_tile.h"

namespace palimpsest::engine {

CyclicTile::CyclicTile(size_t lists, int32_t most_slots, TileShape shape)
    : most_slots_(static_cast<uint32_t>(most_slots)), shape_(shape), cursors_(lists, 0)
{
}

void CyclicTile::next_tiles(size_t list, const Extent& extent, std::vector<uint32_t>& tiles)
{
    uint32_t& cursor = cursors_[list];
    places_.reset(extent.size);
    uint32_t place = extent.first + cursor;
    for (uint32_t size = extent.size; size > extent.budget; size -= shape_.size - shape_.kept) {
        if (cursor + shape_.kept > extent.slots) {
            cursor = 0;
            place = extent.first;
        }
        uint32_t last_kept = place;
        for (uint32_t i = 0; i < shape_.size; ++i) {
            if (i < shape_.kept) last_kept = place;
            tiles.push_back(place);
            place = places_.next(place);
        }
        places_.join(last_kept, place);
        cursor += shape_.kept;
    }
}

void CyclicTile::save(StateWriter& out) const
{
    for (const uint32_t cursor : cursors_)
        out.word(cursor);
}

void CyclicTile::load(StateReader& in)
{
    for (uint32_t& cursor : cursors_)
        cursor = in.word_within(Text("cursor"), 0, most_slots_);
}

} // namespace palimpsest::engine
