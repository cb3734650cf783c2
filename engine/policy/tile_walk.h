// The order in which neighbouring entries meet. It depends on no score, so one walk serves all lists of equal
// length and slots.
//
// A tile is a few neighbouring places; some of their entries leave and the survivors take its first places. A place
// is named by the rank, before eviction, of the entry that first stood there, whoever stands there later.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

// What a walk knows of a list.
struct Extent {
    uint32_t size = 0;   // entries
    uint32_t budget = 0; // that may stay; REQUIRES: < size
    uint32_t first = 0;  // of the region
    uint32_t slots = 0;  // m: entries of the region once the list is within its budget; REQUIRES: >= 1
};

class TileWalk {
public:
    virtual ~TileWalk() = default;

    // Places of a tile, T.
    virtual uint32_t tile_size() const = 0;
    // Appends tile after tile, T places each and ascending, until the list is within its budget, and moves on.
    // `list` counts the lists, or the layers if their lists are walked together.
    virtual void walk(size_t list, const Extent& extent, std::vector<uint32_t>& tiles) = 0;
    // The oldest entries of a region without slots left, so many of them.
    virtual void leave(size_t list, uint32_t entries) = 0;

    virtual void save(StateWriter& out) const = 0;
    virtual void load(StateReader& in) = 0;
    virtual std::unique_ptr<TileWalk> clone() const = 0;
};

} // namespace palimpsest::engine
