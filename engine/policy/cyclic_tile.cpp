#include "engine/policy/cyclic_tile.h"

namespace palimpsest::engine {

CyclicTile::CyclicTile(int32_t layers, int32_t slots, TileShape shape)
    : slots_(static_cast<uint32_t>(slots)), shape_(shape), cursors_(static_cast<size_t>(layers), 0)
{
}

void CyclicTile::walk(int32_t layer, const Overfull& list, std::vector<uint32_t>& tiles)
{
    const auto first = static_cast<uint32_t>(list.ends.sinks);
    uint32_t& cursor = cursors_[static_cast<size_t>(layer)];
    places_.reset(list.size);
    uint32_t place = first + cursor;
    for (uint32_t size = list.size; size > list.budget; size -= shape_.size - shape_.kept) {
        if (cursor + shape_.kept > slots_) {
            cursor = 0;
            place = first;
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
        cursor = in.word_within("cursor", 0, slots_);
}

} // namespace palimpsest::engine
