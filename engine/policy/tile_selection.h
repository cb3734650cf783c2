// Thins neighbouring entries: a walk says who meets, a rule who stays. TreeKV and LaCache are both this machine.
#pragma once

#include <memory>
#include <vector>

#include "engine/policy/selection.h"
#include "engine/policy/survivors.h"
#include "engine/policy/tile_walk.h"

namespace palimpsest::engine {

// Whether the lists of a layer are always of equal length and slots, so that one walk serves them.
enum class Walks : uint8_t { PerLayer, PerList };

// Cost: one walk per layer or list, then the entries that leave for each head, or for one head if one walk serves
// all and the rule reads no scores.
class TileSelection final : public Selection {
public:
    // The walk REQUIRES as many lists as `walks` makes of the layers and heads.
    TileSelection(std::unique_ptr<TileWalk> walk, std::shared_ptr<const Survivors> survivors, Walks walks);

    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    void save(StateWriter& out) const override { walk_->save(out); }
    void load(StateReader& in) override { walk_->load(in); }
    std::unique_ptr<Selection> clone() const override;

private:
    bool walk(size_t list, const ListCut& cut, std::vector<uint32_t>& dropped); // false: nobody meets
    void thin(int32_t layer, const ListCut& list, std::vector<uint32_t>& dropped);

    std::unique_ptr<TileWalk> walk_;
    std::shared_ptr<const Survivors> survivors_;
    Walks walks_;
    std::vector<uint32_t> tiles_;   // of the lists at hand
    std::vector<uint32_t> entries_; // [size of the list], set at the places of tiles_ only
};

} // namespace palimpsest::engine
