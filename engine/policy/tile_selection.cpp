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

size_t TileSelection::list_of(int32_t layer, std::span<const ListCut> heads, size_t head) const
{
    const auto at = static_cast<size_t>(layer);
    return walks_ == Walks::PerList ? at * heads.size() + head : at;
}

bool TileSelection::is_walked([[maybe_unused]] std::span<const ListCut> heads, size_t head) const
{
    const bool shared = head > 0 && walks_ == Walks::PerLayer;
    assert(!shared || (heads[head].excess() == heads[0].excess() && heads[head].slots == heads[0].slots));
    return shared;
}

void TileSelection::select(int32_t layer, std::span<const ListCut> heads,
                           std::vector<std::vector<uint32_t>>& dropped)
{
    Leaving leaving = Leaving::Nobody;
    for (size_t h = 0; h < heads.size(); ++h) {
        const bool walked = is_walked(heads, h);
        if (!walked) leaving = walk(list_of(layer, heads, h), heads[h]);
        if (walked && (leaving != Leaving::OfTiles || !survivors_->reads_scores())) {
            dropped[h] = dropped[0];
        } else if (leaving == Leaving::OfTiles) {
            thin(layer, heads[h], dropped[h]);
        } else if (leaving == Leaving::Oldest) {
            dropped[h].resize(heads[h].excess());
            std::iota(dropped[h].begin(), dropped[h].end(), heads[h].first());
        }
    }
}

kernels::SelectionRule TileSelection::rule() const
{
    kernels::SelectionRule rule = survivors_->rule();
    rule.tile = static_cast<int32_t>(walk_->tile_size());
    return rule;
}

void TileSelection::plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan)
{
    for (size_t h = 0; h < heads.size(); ++h) {
        if (is_walked(heads, h))
            plan.repeat(0, h);
        else
            plan_list(layer, heads[h], walk(list_of(layer, heads, h), heads[h]), h, plan);
    }
}

void TileSelection::plan_list(int32_t layer, const ListCut& cut, Leaving leaving, size_t head, EvictionPlan& plan)
{
    kernels::ListPlan& list = plan.list(head);
    if (leaving == Leaving::Oldest) {
        list.leaving = cut.excess();
        list.data = plan.add_range(cut.first(), cut.excess());
        list.given = 1;
    } else if (leaving == Leaving::OfTiles && survivors_->reads_scores()) {
        waves_.sort(tiles_, walk_->tile_size());
        waves_.add_to(plan, list);
        list.leaving = static_cast<uint32_t>(waves_.tiles() * (walk_->tile_size() - survivors_->rule().kept));
    } else if (leaving == Leaving::OfTiles) {
        given_.clear();
        thin(layer, cut, given_);
        list.leaving = static_cast<uint32_t>(given_.size());
        list.data = plan.add(given_);
    }
}

TileSelection::Leaving TileSelection::walk(size_t list, const ListCut& cut)
{
    tiles_.clear();
    if (cut.excess() == 0) return Leaving::Nobody;
    if (cut.slots == 0) {
        walk_->leave(list, cut.excess());
        return Leaving::Oldest;
    }
    walk_->walk(list, {.size = cut.size(), .budget = cut.budget, .first = cut.first(), .slots = cut.slots}, tiles_);
    return Leaving::OfTiles;
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
    std::sort(dropped.begin(), dropped.end()); // the schedule starts over, so entries are not in order
}

std::unique_ptr<Selection> TileSelection::clone() const
{
    return std::make_unique<TileSelection>(walk_->clone(), survivors_, walks_);
}

} // namespace palimpsest::engine
