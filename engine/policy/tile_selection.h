// Thins neighbouring entries: a walk says who meets, a rule who stays. TreeKV and LaCache are both this machine.
#pragma once

#include <memory>
#include <vector>

#include "engine/policy/selection.h"
#include "engine/policy/survivors.h"
#include "engine/policy/tile_walk.h"

namespace palimpsest::engine {

// Cost: one walk per layer, then the entries that leave for each head, or for one head if the rule reads no scores.
class TileSelection final : public Selection {
public:
    TileSelection(std::unique_ptr<TileWalk> walk, std::shared_ptr<const Survivors> survivors);

    // REQUIRES: all lists of a layer exceed their budgets by the same number.
    void select(int32_t layer, std::span<const Overfull> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    void save(StateWriter& out) const override { walk_->save(out); }
    void load(StateReader& in) override { walk_->load(in); }
    std::unique_ptr<Selection> clone() const override;

private:
    void thin(int32_t layer, const Overfull& list, std::vector<uint32_t>& dropped);

    std::unique_ptr<TileWalk> walk_;
    std::shared_ptr<const Survivors> survivors_;
    std::vector<uint32_t> tiles_;   // of the layer at hand
    std::vector<uint32_t> entries_; // [size of the list], set at the places of tiles_ only
};

} // namespace palimpsest::engine
