// Slots that never change: the same for every list, or a profile over layers (docs/policies-spec.md, pyramidkv).
#pragma once

#include <limits>
#include <vector>

#include "engine/policy/budgets/budget.h"

namespace palimpsest::engine {

enum class Profile : uint8_t {
    Linear,      // PyramidKV, eq. 1: from 2 - 1/beta to 1/beta of the mean
    Geometric,   // (2 beta - 1)^-x, where x is the layer's height in [0, 1]: 0 at the bottom
    Exponential, // a floor of 1/beta of the mean, and above it beta^-x
};

// Slots of each layer, none above `limit`; they sum to layers * mean, or all equal the limit. REQUIRES: beta >= 1.
std::vector<int64_t> layer_profile(Profile profile, double beta, int32_t layers, int64_t mean,
                                   int64_t limit = std::numeric_limits<int32_t>::max());

class FixedBudget final : public Budget {
public:
    static std::unique_ptr<FixedBudget> uniform(const PolicyContext& context, int64_t slots);
    FixedBudget(std::vector<int64_t> layer_slots, int32_t kv_heads); // [layers]

    int32_t most(int32_t layer) const override { return slots_[static_cast<size_t>(layer)]; }
    int64_t total() const override;
    // False even for a profile that happens to be flat: with other pins it may have been uneven, and the lists may
    // still have the lengths of that time.
    bool is_uniform() const override { return is_uniform_; }
    bool is_constant() const override { return true; }
    void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) override;
    std::unique_ptr<Budget> clone() const override { return std::make_unique<FixedBudget>(*this); }

private:
    std::vector<int32_t> slots_; // [layers]
    int32_t kv_heads_;
    bool is_uniform_ = false;
};

} // namespace palimpsest::engine
