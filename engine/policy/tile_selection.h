// Tile eviction, for TreeKV and LaCache: a schedule picks the next tile of neighbouring entries, a rule picks which
// of them to keep.
#pragma once

#include <memory>
#include <vector>

#include "engine/policy/selection.h"
#include "engine/policy/survivors.h"
#include "engine/policy/tile_walk.h"
#include "engine/policy/tile_waves.h"

namespace palimpsest::engine {

// PerLayer: the lists of a layer always have equal lengths and slots, so one walk serves them all.
enum class Walks : uint8_t { PerLayer, PerList };

// Cost: one walk per layer or list, plus the evicted entries of each head, or of one head if one walk serves all
// and the rule reads no scores.
class TileSelection final : public Selection {
public:
    // REQUIRES: `walk` was made for [layers] or [layers, kv_heads] lists, as `walks` says.
    TileSelection(std::unique_ptr<TileWalk> walk, std::shared_ptr<const Survivors> survivors, Walks walks);

    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    bool plans() const override { return true; }
    kernels::SelectionRule rule() const override;
    void plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan) override;
    uint32_t leaving_at_once() const override { return walk_->tile_size(); } // at most
    void save(StateWriter& out) const override { walk_->save(out); }
    void load(StateReader& in) override { walk_->load(in); }
    std::unique_ptr<Selection> clone() const override;

private:
    enum class Leaving : uint8_t { Nobody, Oldest, OfTiles };

    size_t list_of(int32_t layer, std::span<const ListCut> heads, size_t head) const;
    // True if the walk of the layer's first list also applies to this one.
    bool is_walked(std::span<const ListCut> heads, size_t head) const;
    Leaving walk(size_t list, const ListCut& cut);
    void plan_list(int32_t layer, const ListCut& cut, Leaving leaving, size_t head, EvictionPlan& plan);
    void thin(int32_t layer, const ListCut& list, std::vector<uint32_t>& dropped);

    std::unique_ptr<TileWalk> walk_;
    std::shared_ptr<const Survivors> survivors_;
    Walks walks_;
    std::vector<uint32_t> tiles_;   // of the current list, or of the layer
    std::vector<uint32_t> entries_; // [size of the list], valid at the places of tiles_ only
    TileWaves waves_;               // of tiles_
    std::vector<uint32_t> given_;   // scratch: entries evicted without comparing scores
};

} // namespace palimpsest::engine
