// Keeps the first and the newest entries and evicts those between. Cost: the evicted entries.
#pragma once

#include <numeric>

#include "engine/policy/selection/selection.h"

namespace palimpsest::engine {

class PrefixSuffix final : public StatelessSelection<PrefixSuffix> {
public:
    // REQUIRES: prefix <= budget of every list; the suffix is the rest of the budget.
    explicit PrefixSuffix(int32_t prefix) : prefix_(static_cast<uint32_t>(prefix)) {}

    void select(int32_t, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped) override
    {
        for (size_t h = 0; h < heads.size(); ++h) {
            dropped[h].resize(heads[h].excess());
            std::iota(dropped[h].begin(), dropped[h].end(), prefix_);
        }
    }
    bool plans() const override { return true; }
    void plan(int32_t, std::span<const ListCut> heads, EvictionPlan& plan) override
    {
        for (size_t h = 0; h < heads.size(); ++h) {
            kernels::ListPlan& list = plan.list(h);
            list.evicted = heads[h].excess();
            const bool shared = h > 0 && list.evicted == plan.list(0).evicted;
            list.data = shared ? plan.list(0).data : plan.add_range(prefix_, list.evicted);
        }
    }

private:
    uint32_t prefix_;
};

} // namespace palimpsest::engine
