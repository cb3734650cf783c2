// A policy composed of budget, signal, score shaping, selection, protected ends and schedule.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/policy/budgets/budget.h"
#include "engine/policy/named/schedule.h"
#include "engine/policy/policy.h"
#include "engine/policy/protect.h"
#include "engine/policy/selection/selection.h"
#include "engine/policy/signals/score.h"
#include "engine/policy/signals/shaping.h"

namespace palimpsest::engine {

struct PolicyParts {
    std::unique_ptr<Budget> budget; // null: evicts nothing
    Signal signal{};
    Shaping shaping{};
    std::unique_ptr<Selection> selection = nullptr; // set if there is a budget
    ProtectedEnds ends{};
    PositionMode positions = PositionMode::Contiguous;
    std::optional<Retrieval> retrieval{};
    bool capped = true; // false: no_budget, lists grow until the context is full
};

class ComposedPolicy final : public Policy {
public:
    // `parts` are made for the part of the budget that the pins leave.
    ComposedPolicy(PolicyParts parts, EvictionSchedule schedule, PolicySpec resolved, const PolicyContext& context);

    const PolicySpec& resolved() const override { return resolved_; }
    SignalNeeds signals() const override;
    PositionMode default_positions() const override { return parts_.positions; }
    bool bounded() const override;
    bool couples_layers() const override;
    bool heads_alike() const override;
    bool heads_hold_same() const override { return parts_.shaping.layer_mean; }
    int32_t list_budget(int32_t layer, int32_t head) const override;
    int64_t total_budget() const override;
    std::optional<Retrieval> retrieval() const override { return parts_.retrieval; }
    void observe(int32_t layer, std::span<const ListState> heads, const LayerObservation& seen) override;
    void select(int32_t layer, std::span<const ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    bool plans() const override;
    kernels::SelectionRule selection_rule() const override;
    int32_t max_evicted_per_token() const override;
    void plan(int32_t layer, std::span<const uint32_t> sizes, std::span<const uint32_t> pinned,
              EvictionPlan& plan) override;
    bool holds_pins(int32_t) const override { return parts_.budget && !context_.pins.empty(); }
    std::span<const std::vector<Merge>> merges() const override { return merges_; }
    bool waits_for_end() const override { return schedule_.once && !ended_; }
    void end_prefill() override;
    void resume_ended() override { ended_ = true; }
    std::vector<std::byte> state() const override;
    void restore(std::span<const std::byte> state) override;
    std::unique_ptr<Policy> clone() const override;

private:
    // The lists of one layer, with their slots and scores.
    struct LayerCuts {
        std::vector<ListCut> lists;               // [kv_heads]
        std::vector<std::vector<uint32_t>> ranks; // [kv_heads] ranks of unpinned entries; empty without pins
        std::vector<std::vector<double>> shaped;  // [kv_heads]
        bool has_slots = false;
    };

    bool evicts_now() const;
    void view(std::span<const ListState> heads, LayerCuts& cuts) const;
    void view(std::span<const uint32_t> sizes, std::span<const uint32_t> pinned, LayerCuts& cuts) const;
    ListCut cut_of(const ListView& view) const;
    static void average(std::vector<std::vector<double>>& scores);
    void shape(LayerCuts& cuts);
    void give_slots(int32_t layer, LayerCuts& cuts);
    bool exceeds(const LayerCuts& cuts) const;
    bool may_skip(int32_t layer, size_t longest) const;
    bool is_due(int32_t layer, LayerCuts& cuts);
    void give_all_slots();
    void select_due(int32_t layer, std::span<const ListState> heads, std::vector<std::vector<uint32_t>>& dropped);
    void plan_due(int32_t layer, std::span<const uint32_t> sizes, std::span<const uint32_t> pinned,
                  EvictionPlan& plan);
    void map_to_ranks(const LayerCuts& cuts, std::vector<std::vector<uint32_t>>& dropped);

    PolicyParts parts_;
    EvictionSchedule schedule_;
    PolicySpec resolved_;
    PolicyContext context_;
    bool ending_ = false, ended_ = false;    // schedule=once: the one eviction is due; prefill has ended
    std::vector<LayerCuts> cuts_;            // [layers], or one if layers are not coupled
    std::vector<int32_t> slots_;             // scratch [kv_heads]
    std::vector<double> raw_;                // scratch: scores of one list before they are pooled
    std::vector<std::vector<Merge>> merges_; // of the last select, in ranks
    bool due_ = false;                       // coupled layers: the current step evicts
};

} // namespace palimpsest::engine
