// One selection for the lowest layers and another for the rest (docs/policies-spec.md, refreekv, `full_layers`).
#pragma once

#include "engine/policy/selection/selection.h"

namespace palimpsest::engine {

class LayerSplit final : public Selection {
public:
    LayerSplit(int32_t first_above, std::unique_ptr<Selection> below, std::unique_ptr<Selection> above)
        : first_above_(first_above), below_(std::move(below)), above_(std::move(above))
    {
    }

    bool reads_shaped() const override { return below_->reads_shaped() || above_->reads_shaped(); }
    void select(int32_t layer, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped) override
    {
        (layer < first_above_ ? below_ : above_)->select(layer, heads, dropped);
    }
    void save(StateWriter& out) const override
    {
        below_->save(out);
        above_->save(out);
    }
    void load(StateReader& in) override
    {
        below_->load(in);
        above_->load(in);
    }
    std::unique_ptr<Selection> clone() const override
    {
        return std::make_unique<LayerSplit>(first_above_, below_->clone(), above_->clone());
    }

private:
    int32_t first_above_;
    std::unique_ptr<Selection> below_, above_;
};

} // namespace palimpsest::engine
