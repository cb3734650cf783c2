// The order in which neighbouring entries meet. It depends on no score, so one walk serves all heads of a layer.
//
// A tile is a few neighbouring places; some of their entries leave and the survivors take its first places. A place
// is named by the rank, before eviction, of the entry that first stood there, whoever stands there later.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/policy/selection.h"

namespace palimpsest::engine {

class TileWalk {
public:
    virtual ~TileWalk() = default;

    // Places of a tile, T.
    virtual uint32_t tile_size() const = 0;
    // Appends tile after tile, T places each and ascending, until the list is within its budget, and moves on.
    virtual void walk(int32_t layer, const Overfull& list, std::vector<uint32_t>& tiles) = 0;

    virtual void save(StateWriter& out) const = 0;
    virtual void load(StateReader& in) = 0;
    virtual std::unique_ptr<TileWalk> clone() const = 0;
};

} // namespace palimpsest::engine
