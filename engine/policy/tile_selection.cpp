#include "engine/policy/tile_selection.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace palimpsest::engine {

TileSelection::TileSelection(std::unique_ptr<TileWalk> walk, std::shared_ptr<const Survivors> survivors,
                             Walks walks)
    : walk_(std::move(walk)), survivors_(std::move(survivors)), walks_(walks)
{
}

void TileSelection::select(int32_t layer, std::span<const ListCut> heads,
                           std::vector<std::vector<uint32_t>>& dropped)
{
    const auto first_list = static_cast<size_t>(layer) * (walks_ == Walks::PerList ? heads.size() : 1);
    for (size_t h = 0; h < heads.size(); ++h) {
        const bool shared = h > 0 && walks_ == Walks::PerLayer;
        assert(!shared || (heads[h].excess() == heads[0].excess() && heads[h].slots == heads[0].slots));
        if (shared && (!survivors_->reads_scores() || tiles_.empty())) {
            dropped[h] = dropped[0];
        } else if (shared || walk(first_list + h, heads[h], dropped[h])) {
            thin(layer, heads[h], dropped[h]);
        }
    }
}

bool TileSelection::walk(size_t list, const ListCut& cut, std::vector<uint32_t>& dropped)
{
    tiles_.clear();
    if (cut.excess() == 0) return false;
    if (cut.slots == 0) {
        dropped.resize(cut.excess());
        std::iota(dropped.begin(), dropped.end(), cut.first());
        walk_->leave(list, cut.excess());
        return false;
    }
    walk_->walk(list, {.size = cut.size(), .budget = cut.budget, .first = cut.first(), .slots = cut.slots}, tiles_);
    return true;
}

void TileSelection::thin(int32_t layer, const ListCut& list, std::vector<uint32_t>& dropped)
{
    if (entries_.size() < list.size()) entries_.resize(list.size());
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
    return std::make_unique<TileSelection>(walk_->clone(), survivors_, walks_);
}

} // namespace palimpsest::engine
