// A profile over layers that fits a text whose length is known when it is cut (policies.md, 4.7).
#pragma once

#include "engine/policy/fixed_budget.h"

namespace palimpsest::engine {

// As PyramidKV's authors cut a prompt: one within the budget is untouched, one of up to twice the mean slots is cut
// alike in all layers, and a longer one by the profile, no layer beyond its candidates and the total used up.
class FittedProfile final : public Budget {
public:
    struct Shape {
        Profile profile = Profile::Linear;
        double beta = 1;
        int32_t layers = 0, kv_heads = 0;
        int64_t mean = 0; // slots
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
