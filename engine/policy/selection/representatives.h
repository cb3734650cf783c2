// Divides the candidates into as many stretches as there are slots and keeps one entry of each: the alternatives
// that the paper compares HBW-KV with (table 2; docs/policies-spec.md, hbw-kv).
#pragma once

#include "engine/policy/policy.h"
#include "engine/policy/selection/selection.h"

namespace palimpsest::engine {

enum class Representative : uint8_t { First, Last, Max, Average };

class Representatives final : public StatelessSelection<Representatives> {
public:
    explicit Representatives(Representative kind, KeyMean keys = KeyMean::Raw) : kind_(kind), keys_(keys) {}

    bool reads_shaped() const override { return kind_ == Representative::Max; }
    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    // With Average, the middle entry of each stretch becomes the mean of the stretch.
    std::span<const std::vector<Merge>> merges() const override { return merges_; }

private:
    uint32_t kept(const ListCut& list, uint32_t first, uint32_t last) const;

    Representative kind_;
    KeyMean keys_;
    std::vector<std::vector<Merge>> merges_; // [kv_heads]
};

} // namespace palimpsest::engine
