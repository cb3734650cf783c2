// Tile schedules: which eviction tiles are processed, and in which order. A schedule depends on no score, so one
// schedule serves all lists of equal length and slots.
//
// A tile is a few neighbouring places. Some of their entries are evicted and the kept ones move to its first
// places. A place is identified by the rank, before eviction, of the entry that was first there; later it may hold
// another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

// The data of a list that next_tiles depends on. The region: its entries between the sinks and the recent ones,
// from which tiles evict.
struct Extent {
    uint32_t size = 0;   // entries
    uint32_t budget = 0; // entries that may be kept; REQUIRES: < size
    uint32_t first = 0;  // first entry of the region
    uint32_t slots = 0;  // m: entries of the region once the list is within its budget; REQUIRES: >= 1
};

class TileSchedule {
public:
    virtual ~TileSchedule() = default;

    // Places of a tile, T.
    virtual uint32_t tile_size() const = 0;
    // Appends tiles, T ascending places each, until the list is within its budget, and advances the state. `list`
    // is the number of the list, or of the layer if one schedule serves its lists.
    virtual void next_tiles(size_t list, const Extent& extent, std::vector<uint32_t>& tiles) = 0;
    // Tells the schedule that the oldest `entries` entries of the region were evicted without tiles, because the
    // list may not keep any of the region (m = 0). Evicts nothing itself.
    virtual void note_eviction(size_t list, uint32_t entries) = 0;

    virtual void save(StateWriter& out) const = 0;
    virtual void load(StateReader& in) = 0;
    virtual std::unique_ptr<TileSchedule> clone() const = 0;
};

} // namespace palimpsest::engine
