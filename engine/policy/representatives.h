// The list is cut into as many stretches as there are slots, and one entry of each stays: HBW-KV's losing ways to
// keep global information (its table 2; policies.md, 4.11).
#pragma once

#include "engine/policy/policy.h"
#include "engine/policy/selection.h"

namespace palimpsest::engine {

enum class Representative : uint8_t { First, Last, Max, Average };

class Representatives final : public StatelessSelection<Representatives> {
public:
    explicit Representatives(Representative kind, KeyMean keys = KeyMean::Raw) : kind_(kind), keys_(keys) {}

    bool reads_shaped() const override { return kind_ == Representative::Max; }
    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    // Average: the middle entry becomes the mean of its stretch.
    std::span<const std::vector<Merge>> merges() const override { return merges_; }

private:
    uint32_t kept(const ListCut& list, uint32_t first, uint32_t last) const;

    Representative kind_;
    KeyMean keys_;
    std::vector<std::vector<Merge>> merges_; // [kv_heads]
};

} // namespace palimpsest::engine
