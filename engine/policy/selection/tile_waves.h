// Sorts the tiles of a schedule into waves: tiles of one wave share no place and can be decided at the same time;
// of two tiles that share a place, the earlier one is in an earlier wave (kernels/eviction.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/eviction_plan.h"

namespace palimpsest::engine {

// Reuses its memory from one sort to the next.
class TileWaves {
public:
    // `places`: tile after tile, `tile_size` places each. Cost: linear in them.
    void sort(std::span<const uint32_t> places, size_t tile_size);

    size_t tiles() const { return waves_.size(); }
    std::span<const uint32_t> places() const { return sorted_; } // tile after tile, wave after wave
    std::span<const uint32_t> ends() const { return ends_; }     // [waves] number of tiles up to the end of each
    // Sets `data` and the waves of a list; the caller sets the other fields.
    void add_to(EvictionPlan& plan, kernels::ListPlan& list) const;

private:
    void number_waves(std::span<const uint32_t> places, size_t tile_size);

    std::vector<uint32_t> next_;  // [place] first wave behind all that use it; valid for places of the tiles
    std::vector<uint32_t> waves_; // [tiles] in the schedule's order
    std::vector<uint32_t> ends_;  // [waves] as ends(); while sorting: where the wave's next tile goes
    std::vector<uint32_t> sorted_;
};

} // namespace palimpsest::engine
