// TreeKV's cycle of pairs with a limit on the height of the tree (policies.md, 4.8, `height`).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/rank_list.h"
#include "engine/policy/tile_walk.h"

namespace palimpsest::engine {

// An entry's height is that of the tree of merges it has won or lost places in; pairs whose left entry has reached
// the limit are passed over. Heights depend on no score. Cost of a walk: linear in the list, once per list.
class LimitedCycle final : public TileWalk {
public:
    // REQUIRES: slots >= 1, limit >= 1.
    LimitedCycle(const std::vector<int32_t>& slots, int32_t limit); // slots of every list, which never change

    uint32_t tile_size() const override { return 2; }
    void walk(size_t list, const Extent& extent, std::vector<uint32_t>& tiles) override;
    void leave(size_t, uint32_t) override {}
    void save(StateWriter& out) const override;
    void load(StateReader& in) override;
    std::unique_ptr<TileWalk> clone() const override { return std::make_unique<LimitedCycle>(*this); }

private:
    struct HeightsOf {
        uint32_t cursor = 0;
        std::vector<uint32_t> heights; // [slots]
    };

    // The next rank at or after another that may still be the left of a pair. Ranks only ever close, so paths can
    // be shortened as they are walked and a whole walk stays linear.
    class OpenRanks {
    public:
        void reset(uint32_t size); // all open
        void close(uint32_t rank) { link_[rank] = rank + 1; }
        uint32_t from(uint32_t rank);

    private:
        std::vector<uint32_t> link_; // one more than the list: the end is always open
    };

    uint32_t limit_;
    std::vector<HeightsOf> lists_;
    RankList places_;
    std::vector<uint32_t> heights_; // scratch: by rank before eviction
    OpenRanks open_;                // scratch
};

} // namespace palimpsest::engine
