// TreeKV over blocks: of two neighbouring blocks, the lower-scoring one is evicted as a whole (TreeKV, section 4.2;
// docs/policies-spec.md, treekv-block).
#pragma once

#include "engine/policy/selection/cyclic_tile.h"
#include "engine/policy/selection/selection.h"
#include "engine/policy/selection/tile_waves.h"

namespace palimpsest::engine {

// Cost: the scores of the compared blocks.
class BlockPairs final : public Selection {
public:
    // `unit`: entries per block; `slots`: entries of every list, at least `unit`. Without `by_score` the left block
    // of a pair is always kept. The right block of the last pair may hold, and evict, the oldest unit - 1 recent
    // entries. REQUIRES: that many recent entries.
    BlockPairs(int32_t layers, int32_t unit, int32_t slots, bool by_score);

    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    bool plans() const override { return true; }
    kernels::SelectionRule rule() const override;
    void plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan) override;
    uint32_t max_evicted_per_token() const override { return unit_; }
    void save(StateWriter& out) const override { pairs_.save(out); }
    void load(StateReader& in) override { pairs_.load(in); }
    std::unique_ptr<Selection> clone() const override { return std::make_unique<BlockPairs>(*this); }

private:
    void next_tiles(int32_t layer, const ListCut& list);
    void apply(const ListCut& list, std::vector<uint32_t>& dropped);
    double score(const ListCut& list, uint32_t block) const;

    uint32_t unit_;
    bool by_score_;
    CyclicTile pairs_;             // schedule over blocks
    std::vector<uint32_t> tiles_;  // of the current layer
    std::vector<uint32_t> blocks_; // [place] the block that is at this place now
    TileWaves waves_;              // of tiles_
    std::vector<uint32_t> given_;  // scratch: entries evicted without comparing scores
};

} // namespace palimpsest::engine
