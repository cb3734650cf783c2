#include "engine/policy/tile_selection.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::engine {

TileSelection::TileSelection(std::unique_ptr<TileWalk> walk, std::shared_ptr<const Survivors> survivors)
    : walk_(std::move(walk)), survivors_(std::move(survivors))
{
}

void TileSelection::select(int32_t layer, std::span<const Overfull> heads,
                           std::vector<std::vector<uint32_t>>& dropped)
{
    tiles_.clear();
    walk_->walk(layer, heads.front(), tiles_);
    for (size_t h = 0; h < heads.size(); ++h) {
        assert(heads[h].size - heads[h].budget == heads[0].size - heads[0].budget);
        if (h > 0 && !survivors_->reads_scores()) {
            dropped[h] = dropped[0];
        } else {
            thin(layer, heads[h], dropped[h]);
        }
    }
}

void TileSelection::thin(int32_t layer, const Overfull& list, std::vector<uint32_t>& dropped)
{
    if (entries_.size() < list.size) entries_.resize(list.size);
    for (const uint32_t place : tiles_)
        entries_[place] = place;
    const std::span<const uint32_t> tiles(tiles_);
    for (size_t at = 0; at < tiles.size(); at += walk_->tile_size()) {
        survivors_->thin(layer, tiles.subspan(at, walk_->tile_size()), list.score, entries_, dropped);
    }
    std::sort(dropped.begin(), dropped.end()); // a later sweep drops older entries again
}

std::unique_ptr<Selection> TileSelection::clone() const
{
    return std::make_unique<TileSelection>(walk_->clone(), survivors_);
}

} // namespace palimpsest::engine
