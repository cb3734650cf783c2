#include "engine/policy/selection/tile_waves.h"

#include <algorithm>
#include <utility>

namespace palimpsest::engine {

void TileWaves::number_waves(std::span<const uint32_t> places, size_t tile_size)
{
    if (!places.empty()) next_.resize(std::max<size_t>(next_.size(), std::ranges::max(places) + size_t{1}));
    for (const uint32_t place : places)
        next_[place] = 0;
    waves_.clear();
    for (; !places.empty(); places = places.subspan(tile_size)) {
        const auto tile = places.first(tile_size);
        uint32_t wave = 0;
        for (const uint32_t place : tile)
            wave = std::max(wave, next_[place]);
        for (const uint32_t place : tile)
            next_[place] = wave + 1;
        waves_.push_back(wave);
    }
}

void TileWaves::sort(std::span<const uint32_t> places, size_t tile_size)
{
    number_waves(places, tile_size);
    ends_.clear();
    for (const uint32_t wave : waves_) {
        if (wave == ends_.size()) ends_.push_back(0); // a tile's wave is at most one above the highest so far
        ++ends_[wave];
    }
    uint32_t tiles = 0;
    for (uint32_t& end : ends_)
        tiles += std::exchange(end, tiles);
    sorted_.resize(places.size());
    for (const uint32_t wave : waves_) {
        std::ranges::copy(places.first(tile_size), sorted_.begin() + std::ptrdiff_t(ends_[wave]++ * tile_size));
        places = places.subspan(tile_size);
    }
}

void TileWaves::add_to(EvictionPlan& plan, kernels::ListPlan& list) const
{
    list.data = plan.add(sorted_);
    list.wave_ends = plan.add(ends_);
    list.waves = static_cast<uint32_t>(ends_.size());
}

} // namespace palimpsest::engine
