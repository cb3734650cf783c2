// Merges where the tree is fullest, so that every octave of age keeps about as many entries (policies.md, 4.17).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/rank_list.h"
#include "engine/policy/tile_walk.h"

namespace palimpsest::engine {

// Every entry of the middle region has a level, 0 when it leaves the recent window, one more than before when it
// wins a pair. Of the fullest level the two oldest meet. Levels never increase from old to new and depend on no
// score, so the lengths of their runs are the whole state. Cost of a walk: for each eviction the
// runs.
class FullestLevel final : public TileWalk {
public:
    // `slots` is the size m of the region. REQUIRES: slots >= 1.
    FullestLevel(int32_t layers, int32_t slots);

    uint32_t tile_size() const override { return 2; }
    void walk(int32_t layer, const Overfull& list, std::vector<uint32_t>& tiles) override;
    void save(StateWriter& out) const override;
    void load(StateReader& in) override;
    std::unique_ptr<TileWalk> clone() const override { return std::make_unique<FullestLevel>(*this); }

    // By rank within the region, oldest first.
    std::vector<uint32_t> levels(int32_t layer) const;

private:
    struct Run {
        uint32_t level = 0;
        uint32_t count = 0;
        uint32_t first = 0; // oldest place; has meaning within one walk
    };

    static std::vector<Run>::iterator fullest(std::vector<Run>& runs);

    uint32_t slots_;
    std::vector<std::vector<Run>> layers_; // per layer, oldest run first: levels strictly decrease
    RankList places_;
};

} // namespace palimpsest::engine
