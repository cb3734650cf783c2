// TreeKV's cycle of pairs with a limit on the height of the tree (docs/policies-spec.md, treekv, `height`).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/selection/rank_list.h"
#include "engine/policy/selection/tile_schedule.h"

namespace palimpsest::engine {

// Every slot has a height, at first 0. The place of a pair's kept entry gets the higher of the two heights plus
// one, whichever entry is kept. Pairs whose left place has reached the limit are skipped. Heights depend on no
// score. Cost of next_tiles: linear in the list.
class LimitedCycle final : public TileSchedule {
public:
    // REQUIRES: slots >= 1, limit >= 1.
    LimitedCycle(const std::vector<int32_t>& slots, int32_t limit); // slots of each list, constant

    uint32_t tile_size() const override { return 2; }
    void next_tiles(size_t list, const Extent& extent, std::vector<uint32_t>& tiles) override;
    void note_eviction(size_t, uint32_t) override {}
    void save(StateWriter& out) const override;
    void load(StateReader& in) override;
    std::unique_ptr<TileSchedule> clone() const override { return std::make_unique<LimitedCycle>(*this); }

private:
    struct HeightsOf {
        uint32_t cursor = 0;
        std::vector<uint32_t> heights; // [slots]
    };

    // Finds the next rank, at or after a given one, that may still be the left one of a pair. A closed rank never
    // opens again, so path compression keeps next_tiles close to linear.
    class OpenRanks {
    public:
        void reset(uint32_t size); // all open
        void close(uint32_t rank) { link_[rank] = rank + 1; }
        uint32_t from(uint32_t rank);

    private:
        std::vector<uint32_t> link_; // [list size + 1]: the end is always open
    };

    uint32_t limit_;
    std::vector<HeightsOf> lists_;
    RankList places_;
    std::vector<uint32_t> heights_; // scratch, by rank before eviction
    OpenRanks open_;                // scratch
};

} // namespace palimpsest::engine
