// Nothing leaves.
#pragma once

#include "engine/policy/selection.h"

namespace palimpsest::engine {

class Everything final : public Selection {
public:
    void select(int32_t, std::span<const Overfull>, std::vector<std::vector<uint32_t>>&) override {}
    void save(StateWriter&) const override {}
    void load(StateReader&) override {}
    std::unique_ptr<Selection> clone() const override { return std::make_unique<Everything>(*this); }
};

} // namespace palimpsest::engine
