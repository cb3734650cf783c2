// A policy put together from one value of each axis (policies.md, 2).
#pragma once

#include <memory>
#include <vector>

#include "engine/policy/budget.h"
#include "engine/policy/policy.h"
#include "engine/policy/protect.h"
#include "engine/policy/schedule.h"
#include "engine/policy/score.h"
#include "engine/policy/selection.h"

namespace palimpsest::engine {

struct PolicyParts {
    ListBudget budget;
    ScoreKind score = ScoreKind::None;
    ProtectedEnds ends;
    std::unique_ptr<Selection> selection;
    PositionMode positions = PositionMode::Contiguous;
};

class ComposedPolicy final : public Policy {
public:
    // `parts` are those of the budget without the pinned tokens.
    ComposedPolicy(PolicyParts parts, EvictionSchedule schedule, PolicySpec resolved, int32_t layers,
                   int32_t kv_heads, Pins pins);

    const PolicySpec& resolved() const override { return resolved_; }
    SignalNeeds signals() const override { return signals_of(parts_.score); }
    PositionMode default_positions() const override { return parts_.positions; }
    bool bounded() const override { return parts_.budget.bounded; }
    bool couples_layers() const override { return false; }
    int32_t list_budget(int32_t layer, int32_t head) const override;
    int64_t total_budget() const override;
    void observe(int32_t, std::span<const ListState>, const LayerObservation&) override {}
    void select(int32_t layer, std::span<const ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    std::vector<std::byte> state() const override;
    void restore(std::span<const std::byte> state) override;
    std::unique_ptr<Policy> clone() const override;

private:
    bool is_due(int32_t layer, std::span<const ListState> heads) const;
    int32_t nominal_budget(int32_t layer, int32_t head) const; // pinned tokens included
    Overfull unpinned(int32_t layer, int32_t head, const ListState& list);

    PolicyParts parts_;
    EvictionSchedule schedule_;
    PolicySpec resolved_;
    int32_t layers_, kv_heads_;
    Pins pins_;
    std::vector<Overfull> overfull_;           // [kv_heads] of the layer at hand
    std::vector<std::vector<uint32_t>> ranks_; // [kv_heads] of the entries that are not pinned, if any is
};

} // namespace palimpsest::engine
