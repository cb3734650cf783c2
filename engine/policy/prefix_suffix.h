// The first entries and the newest stay, what lies between leaves. Stateless; cost: the entries that leave.
#pragma once

#include "engine/policy/selection.h"

namespace palimpsest::engine {

class PrefixSuffix final : public Selection {
public:
    // REQUIRES: prefix <= budget of every list; the suffix is the rest of the budget.
    explicit PrefixSuffix(int32_t prefix) : prefix_(static_cast<uint32_t>(prefix)) {}

    void select(int32_t layer, std::span<const Overfull> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    void save(StateWriter&) const override {}
    void load(StateReader&) override {}
    std::unique_ptr<Selection> clone() const override { return std::make_unique<PrefixSuffix>(*this); }

private:
    uint32_t prefix_;
};

} // namespace palimpsest::engine
