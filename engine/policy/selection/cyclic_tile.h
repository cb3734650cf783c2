// The tile schedule of TreeKV's pairs and LaCache's tiles (LaCache, section 3.2): a cursor moves over the middle
// region, the entries between sinks and recent ones, from old to new, and starts over at its end
// (docs/policies-spec.md, treekv and lacache).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/selection/rank_list.h"
#include "engine/policy/selection/tile_schedule.h"

namespace palimpsest::engine {

struct TileShape {
    uint32_t size = 2; // T entries per tile
    uint32_t kept = 1; // K < T are kept; the cursor advances by K
};

// Cost of next_tiles: the evicted entries.
class CyclicTile final : public TileSchedule {
public:
    // `most_slots`: most slots of any list. REQUIRES: kept <= slots, and at least size - kept - 1 entries behind
    // the region, into which the last tile may reach.
    CyclicTile(size_t lists, int32_t most_slots, TileShape shape);

    uint32_t tile_size() const override { return shape_.size; }
    void next_tiles(size_t list, const Extent& extent, std::vector<uint32_t>& tiles) override;
    void note_eviction(size_t, uint32_t) override {}
    void save(StateWriter& out) const override;
    void load(StateReader& in) override;
    std::unique_ptr<TileSchedule> clone() const override { return std::make_unique<CyclicTile>(*this); }

    // Offset of the next tile in the region. If it equals the size of the region, the next tile starts over.
    uint32_t cursor(size_t list) const { return cursors_[list]; }

private:
    uint32_t most_slots_;
    TileShape shape_;
    std::vector<uint32_t> cursors_; // [lists]
    RankList places_;
};

} // namespace palimpsest::engine
