// The first entries and the newest stay, what lies between leaves. Cost: the entries that leave.
#pragma once

#include <numeric>

#include "engine/policy/selection.h"

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

private:
    uint32_t prefix_;
};

} // namespace palimpsest::engine
