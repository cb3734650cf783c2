// A cursor walks the middle region from old to new and starts over at its end: TreeKV's pairs (policies.md, 4.8)
// and LaCache's tiles (4.10; LaCache, section 3.2).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/rank_list.h"
#include "engine/policy/tile_walk.h"

namespace palimpsest::engine {

struct TileShape {
    uint32_t size = 2; // T entries meet
    uint32_t kept = 1; // K < T survive; the cursor advances by K
};

// Cost of a walk: what it evicts, once per layer.
class CyclicTile final : public TileWalk {
public:
    // `slots` is the size m of the region. REQUIRES: kept <= slots, and at least size - kept - 1 entries behind it.
    CyclicTile(int32_t layers, int32_t slots, TileShape shape);

    uint32_t tile_size() const override { return shape_.size; }
    void walk(int32_t layer, const Overfull& list, std::vector<uint32_t>& tiles) override;
    void save(StateWriter& out) const override;
    void load(StateReader& in) override;
    std::unique_ptr<TileWalk> clone() const override { return std::make_unique<CyclicTile>(*this); }

    // The next tile's offset in the region; the region's size if the next tile starts over.
    uint32_t cursor(int32_t layer) const { return cursors_[static_cast<size_t>(layer)]; }

private:
    uint32_t slots_;
    TileShape shape_;
    std::vector<uint32_t> cursors_; // [layers]
    RankList places_;
};

} // namespace palimpsest::engine
