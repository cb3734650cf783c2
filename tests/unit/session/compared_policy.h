// Compares the decisions of a policy on two backends, whose signals differ in their last bits.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/policy/policy.h"

namespace palimpsest::tests {

// The input and the choice of a policy for one layer of one step.
struct Decision {
    std::vector<std::vector<uint32_t>> streams;
    std::vector<std::vector<double>> sums, counts, moments;
    std::vector<std::vector<uint32_t>> dropped;
    std::vector<engine::Merge> merges;
};

struct Decisions {
    std::vector<std::vector<Decision>> of; // [layers], step after step
    // The first step in which slightly changed signals change the choice; from there on the two sessions may keep
    // different tokens.
    size_t first_close = SIZE_MAX;
};

// Forwards all calls to another policy.
class ForwardingPolicy : public engine::Policy {
public:
    explicit ForwardingPolicy(std::unique_ptr<engine::Policy> policy) : policy_(std::move(policy)) {}

    const engine::PolicySpec& resolved() const override { return policy_->resolved(); }
    engine::SignalNeeds signals() const override { return policy_->signals(); }
    engine::PositionMode default_positions() const override { return policy_->default_positions(); }
    bool bounded() const override { return policy_->bounded(); }
    bool couples_layers() const override { return policy_->couples_layers(); }
    bool heads_alike() const override { return policy_->heads_alike(); }
    bool heads_hold_same() const override { return policy_->heads_hold_same(); }
    int32_t list_budget(int32_t layer, int32_t head) const override { return policy_->list_budget(layer, head); }
    int64_t total_budget() const override { return policy_->total_budget(); }
    std::optional<engine::Retrieval> retrieval() const override { return policy_->retrieval(); }
    void observe(int32_t layer, std::span<const engine::ListState> heads,
                 const engine::LayerObservation& seen) override
    {
        policy_->observe(layer, heads, seen);
    }
    void select(int32_t layer, std::span<const engine::ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override
    {
        policy_->select(layer, heads, dropped);
    }
    std::span<const std::vector<engine::Merge>> merges() const override { return policy_->merges(); }
    bool waits_for_end() const override { return policy_->waits_for_end(); }
    void end_prefill() override { policy_->end_prefill(); }
    void resume_ended() override { policy_->resume_ended(); }
    std::vector<std::byte> state() const override { return policy_->state(); }
    void restore(std::span<const std::byte> state) override { policy_->restore(state); }
    std::unique_ptr<engine::Policy> clone() const override { return policy_->clone(); }

protected:
    std::unique_ptr<engine::Policy> policy_;
};

// Records every decision. Copies of the policy get slightly changed signals, which shows how close a decision is.
class LeadingPolicy final : public ForwardingPolicy {
public:
    LeadingPolicy(std::unique_ptr<engine::Policy> policy, int32_t layers, Decisions& decisions);

    void observe(int32_t layer, std::span<const engine::ListState> heads,
                 const engine::LayerObservation& seen) override;
    void select(int32_t layer, std::span<const engine::ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    void end_prefill() override;

private:
    Decisions& decisions_;
    std::vector<std::unique_ptr<engine::Policy>> shadows_;
    std::map<int32_t, std::vector<std::shared_ptr<const void>>> shown_; // by layer: what the shadows observed
};

// Checks that input and decisions equal those of the leading policy, up to its first close decision.
class FollowingPolicy final : public ForwardingPolicy {
public:
    FollowingPolicy(std::unique_ptr<engine::Policy> policy, const Decisions& led, double tolerance)
        : ForwardingPolicy(std::move(policy)), led_(led), tolerance_(tolerance), steps_(led.of.size(), 0)
    {
    }

    void select(int32_t layer, std::span<const engine::ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    int64_t compared() const { return compared_; }

private:
    const Decisions& led_;
    double tolerance_;
    std::vector<size_t> steps_; // [layers] decisions so far, whether compared or not
    int64_t compared_ = 0;
};

} // namespace palimpsest::tests
