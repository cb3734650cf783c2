// Tile eviction, for TreeKV and LaCache: a schedule picks the next tile of neighbouring entries, a rule picks which
// of them to keep.
#pragma once

#include <memory>
#include <vector>

#include "engine/policy/selection/selection.h"
#include "engine/policy/selection/tile_rule.h"
#include "engine/policy/selection/tile_schedule.h"
#include "engine/policy/selection/tile_waves.h"

namespace palimpsest::engine {

// PerLayer: the lists of a layer always have equal lengths and slots, so one schedule serves them all.
enum class SchedulePer : uint8_t { PerLayer, PerList };

// Cost: one pass of the schedule per layer or list, plus the evicted entries of each head, or of one head if one
// schedule serves all and the rule reads no scores.
class TileSelection final : public Selection {
public:
    // REQUIRES: `schedule` was made for [layers] or [layers, kv_heads] lists, as `per` says.
    TileSelection(std::unique_ptr<TileSchedule> schedule, std::shared_ptr<const TileRule> tile_rule,
                  SchedulePer per);

    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    bool plans() const override { return true; }
    kernels::SelectionRule rule() const override;
    void plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan) override;
    uint32_t max_evicted_per_token() const override { return schedule_->tile_size(); } // at most
    void save(StateWriter& out) const override { schedule_->save(out); }
    void load(StateReader& in) override { schedule_->load(in); }
    std::unique_ptr<Selection> clone() const override;

private:
    enum class Evicted : uint8_t { None, Oldest, OfTiles };

    size_t list_of(int32_t layer, std::span<const ListCut> heads, size_t head) const;
    // True if the tiles of the layer's first list also apply to this one.
    bool has_tiles_of_first(std::span<const ListCut> heads, size_t head) const;
    Evicted next_tiles(size_t list, const ListCut& cut);
    void plan_list(int32_t layer, const ListCut& cut, Evicted evicted, size_t head, EvictionPlan& plan);
    void apply(int32_t layer, const ListCut& list, std::vector<uint32_t>& dropped);

    std::unique_ptr<TileSchedule> schedule_;
    std::shared_ptr<const TileRule> tile_rule_;
    SchedulePer per_;
    std::vector<uint32_t> tiles_;   // [tiles, T] places: the tiles of one list, or of all lists of a layer
    std::vector<uint32_t> entries_; // [size of the list] the entry at each place; valid at places of tiles_
    TileWaves waves_;               // of tiles_
    std::vector<uint32_t> given_;   // scratch: entries evicted without comparing scores
};

} // namespace palimpsest::engine
