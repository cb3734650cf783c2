// A profile over layers fitted to the length of a text, which is known with schedule=once (docs/policies-spec.md,
// pyramidkv).
#pragma once

#include "engine/policy/budgets/fixed_budget.h"

namespace palimpsest::engine {

// Follows PyramidKV's authors: a prompt within the budget is not cut. One of up to twice the mean slots is cut to
// the same length in all layers. A longer one is cut by the profile; no layer gets more slots than it has
// candidates, and the others share what it leaves.
class FittedProfile final : public Budget {
public:
    struct Shape {
        Profile profile = Profile::Linear;
        double beta = 1;
        int32_t layers = 0, kv_heads = 0;
        int64_t mean = 0; // slots per list
    };
    explicit FittedProfile(Shape shape) : shape_(shape) {}

    int32_t most(int32_t) const override;
    int64_t total() const override { return shape_.mean * shape_.layers * shape_.kv_heads; }
    bool follows_sizes() const override { return true; }
    void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) override;
    std::unique_ptr<Budget> clone() const override { return std::make_unique<FittedProfile>(*this); }

private:
    int64_t layer_slots(int32_t layer, const ListCut& longest) const;

    Shape shape_;
};

} // namespace palimpsest::engine
