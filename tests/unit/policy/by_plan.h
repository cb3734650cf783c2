// A policy that selects by the plan of another policy, which the reference eviction of kernels/eviction.h executes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/policy/policy.h"

namespace palimpsest::tests {

// Returns the fault of a plan for a layer with lists of these sizes, by the rules of kernels/eviction.h; empty if
// there is none. `pinned` is as in Policy::plan().
std::string fault_of(const engine::EvictionPlan& plan, const kernels::SelectionRule& rule,
                     std::span<const uint32_t> sizes, std::span<const uint32_t> pinned);

// Wraps a policy and replaces its select() by its plan. Ignores observations. REQUIRES: policy->plans().
class ByPlan final : public engine::Policy {
public:
    ByPlan(std::unique_ptr<engine::Policy> policy, engine::Pins pins)
        : policy_(std::move(policy)), pins_(std::move(pins))
    {
    }

    const engine::EvictionPlan& last_plan() const { return plan_; }

    // Fails the test if the plan breaks the rules of kernels/eviction.h.
    void select(int32_t layer, std::span<const engine::ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    void observe(int32_t, std::span<const engine::ListState>, const engine::LayerObservation&) override {}

    const engine::PolicySpec& resolved() const override { return policy_->resolved(); }
    engine::SignalNeeds signals() const override { return policy_->signals(); }
    engine::PositionMode default_positions() const override { return policy_->default_positions(); }
    bool bounded() const override { return policy_->bounded(); }
    bool couples_layers() const override { return policy_->couples_layers(); }
    int32_t list_budget(int32_t layer, int32_t head) const override { return policy_->list_budget(layer, head); }
    int64_t total_budget() const override { return policy_->total_budget(); }
    bool waits_for_end() const override { return policy_->waits_for_end(); }
    void end_prefill() override { policy_->end_prefill(); }
    std::vector<std::byte> state() const override { return policy_->state(); }
    void restore(std::span<const std::byte> state) override { policy_->restore(state); }
    std::unique_ptr<engine::Policy> clone() const override
    {
        return std::make_unique<ByPlan>(policy_->clone(), pins_);
    }

private:
    void look_for_pins(int32_t layer, std::span<const engine::ListState> heads);
    void evict(std::span<const engine::ListState> heads, std::vector<std::vector<uint32_t>>& dropped);

    std::unique_ptr<engine::Policy> policy_;
    engine::Pins pins_;
    std::vector<uint32_t> pinned_ranks_, pinned_; // [kv_heads, stride] ranks, [kv_heads] counts; empty: no pins
    size_t stride_ = 0;
    engine::EvictionPlan plan_;
};

} // namespace palimpsest::tests
