#include "engine/policy/selection/tile_selection.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace palimpsest::engine {

TileSelection::TileSelection(std::unique_ptr<TileSchedule> schedule, std::shared_ptr<const TileRule> tile_rule,
                             SchedulePer per)
    : schedule_(std::move(schedule)), tile_rule_(std::move(tile_rule)), per_(per)
{
}

size_t TileSelection::list_of(int32_t layer, std::span<const ListCut> heads, size_t head) const
{
    const auto at = static_cast<size_t>(layer);
    return per_ == SchedulePer::PerList ? at * heads.size() + head : at;
}

bool TileSelection::has_tiles_of_first([[maybe_unused]] std::span<const ListCut> heads, size_t head) const
{
    const bool shared = head > 0 && per_ == SchedulePer::PerLayer;
    assert(!shared || (heads[head].excess() == heads[0].excess() && heads[head].slots == heads[0].slots));
    return shared;
}

void TileSelection::select(int32_t layer, std::span<const ListCut> heads,
                           std::vector<std::vector<uint32_t>>& dropped)
{
    Evicted evicted = Evicted::None;
    for (size_t h = 0; h < heads.size(); ++h) {
        const bool shares_tiles = has_tiles_of_first(heads, h);
        if (!shares_tiles) evicted = next_tiles(list_of(layer, heads, h), heads[h]);
        if (shares_tiles && (evicted != Evicted::OfTiles || !tile_rule_->reads_scores())) {
            dropped[h] = dropped[0];
        } else if (evicted == Evicted::OfTiles) {
            apply(layer, heads[h], dropped[h]);
        } else if (evicted == Evicted::Oldest) {
            dropped[h].resize(heads[h].excess());
            std::iota(dropped[h].begin(), dropped[h].end(), heads[h].first());
        }
    }
}

kernels::SelectionRule TileSelection::rule() const
{
    kernels::SelectionRule rule = tile_rule_->rule();
    rule.tile = static_cast<int32_t>(schedule_->tile_size());
    return rule;
}

void TileSelection::plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan)
{
    for (size_t h = 0; h < heads.size(); ++h) {
        if (has_tiles_of_first(heads, h))
            plan.repeat(0, h);
        else
            plan_list(layer, heads[h], next_tiles(list_of(layer, heads, h), heads[h]), h, plan);
    }
}

void TileSelection::plan_list(int32_t layer, const ListCut& cut, Evicted evicted, size_t head, EvictionPlan& plan)
{
    kernels::ListPlan& list = plan.list(head);
    if (evicted == Evicted::Oldest) {
        list.evicted = cut.excess();
        list.data = plan.add_range(cut.first(), cut.excess());
        list.given = 1;
    } else if (evicted == Evicted::OfTiles && tile_rule_->reads_scores()) {
        waves_.sort(tiles_, schedule_->tile_size());
        waves_.add_to(plan, list);
        list.evicted = static_cast<uint32_t>(waves_.tiles() * (schedule_->tile_size() - tile_rule_->rule().kept));
    } else if (evicted == Evicted::OfTiles) {
        given_.clear();
        apply(layer, cut, given_);
        list.evicted = static_cast<uint32_t>(given_.size());
        list.data = plan.add(given_);
    }
}

TileSelection::Evicted TileSelection::next_tiles(size_t list, const ListCut& cut)
{
    tiles_.clear();
    if (cut.excess() == 0) return Evicted::None;
    if (cut.slots == 0) {
        schedule_->note_eviction(list, cut.excess());
        return Evicted::Oldest;
    }
    schedule_->next_tiles(
        list, {.size = cut.size(), .budget = cut.budget, .first = cut.first(), .slots = cut.slots}, tiles_);
    return Evicted::OfTiles;
}

void TileSelection::apply(int32_t layer, const ListCut& list, std::vector<uint32_t>& dropped)
{
    if (entries_.size() < list.size()) entries_.resize(list.size());
    for (const uint32_t place : tiles_)
        entries_[place] = place;
    const std::span<const uint32_t> tiles(tiles_);
    for (size_t at = 0; at < tiles.size(); at += schedule_->tile_size()) {
        tile_rule_->apply(layer, tiles.subspan(at, schedule_->tile_size()), list.score, entries_, dropped);
    }
    std::sort(dropped.begin(), dropped.end()); // a schedule does not take tiles in order of age
}

std::unique_ptr<Selection> TileSelection::clone() const
{
    return std::make_unique<TileSelection>(schedule_->clone(), tile_rule_, per_);
}

} // namespace palimpsest::engine
