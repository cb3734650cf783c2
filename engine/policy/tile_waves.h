// Tiles in the order of a walk, sorted into waves: tiles of one wave share no place and may be thinned at the same
// time, and of tiles that share one the earlier is in an earlier wave (kernels/eviction.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/eviction_plan.h"

namespace palimpsest::engine {

// Keeps its memory from one sorting to the next.
class TileWaves {
public:
    // Tile after tile of `tile_size` places. Cost: linear in them.
    void sort(std::span<const uint32_t> places, size_t tile_size);

    size_t tiles() const { return waves_.size(); }
    std::span<const uint32_t> places() const { return sorted_; } // tile after tile, wave after wave
    std::span<const uint32_t> ends() const { return ends_; }     // [waves] tiles up to the end of each
    // Data and waves of a list; who leaves is the caller's.
    void add_to(EvictionPlan& plan, kernels::ListPlan& list) const;

private:
    void number_waves(std::span<const uint32_t> places, size_t tile_size);

    std::vector<uint32_t> next_;  // by place: the first wave free of it; set at the places of the tiles only
    std::vector<uint32_t> waves_; // of every tile, in the walk's order
    std::vector<uint32_t> ends_;  // while sorting: tiles before the next of each wave
    std::vector<uint32_t> sorted_;
};

} // namespace palimpsest::engine
