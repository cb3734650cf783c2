// Policies for tests, with behaviour that no named policy has.
#pragma once

#include <functional>
#include <random>

#include "engine/policy/policy.h"

namespace palimpsest::tests {

// Keeps everything; subclasses override what they need.
class OwnPolicy : public engine::Policy {
public:
    OwnPolicy(int32_t layers, int32_t kv_heads, int32_t limit) : layers_(layers), kv_heads_(kv_heads), limit_(limit)
    {
    }
    const engine::PolicySpec& resolved() const override { return spec_; }
    engine::SignalNeeds signals() const override { return {}; }
    engine::PositionMode default_positions() const override { return engine::PositionMode::Contiguous; }
    bool bounded() const override { return true; }
    bool couples_layers() const override { return false; }
    int32_t list_budget(int32_t, int32_t) const override { return limit_; }
    int64_t total_budget() const override { return int64_t{layers_} * kv_heads_ * limit_; }
    void observe(int32_t, std::span<const engine::ListState>, const engine::LayerObservation&) override {}
    void select(int32_t, std::span<const engine::ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override
    {
        dropped.assign(heads.size(), {});
    }
    std::vector<std::byte> state() const override { return {}; }
    void restore(std::span<const std::byte>) override {}

protected:
    int32_t layers_, kv_heads_, limit_;

private:
    engine::PolicySpec spec_{"streaming", {}};
};

// Random budgets for every list and step, and random evictions. With `coupled` all lists share one total, otherwise
// the lists of each layer share theirs. Deterministic: depends on seed, step, layer and list lengths.
class RandomShares : public OwnPolicy {
public:
    RandomShares(int32_t layers, int32_t kv_heads, int32_t limit, int64_t total, bool coupled, uint64_t seed)
        : OwnPolicy(layers, kv_heads, limit), total_(total), coupled_(coupled), seed_(seed),
          steps_(static_cast<size_t>(layers), 0),
          lengths_(static_cast<size_t>(layers), std::vector<int64_t>(static_cast<size_t>(kv_heads)))
    {
    }
    bool couples_layers() const override { return coupled_; }
    bool heads_alike() const override { return false; }
    int64_t total_budget() const override { return total_; }
    void observe(int32_t layer, std::span<const engine::ListState> heads, const engine::LayerObservation&) override;
    void select(int32_t layer, std::span<const engine::ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    std::vector<std::byte> state() const override;
    void restore(std::span<const std::byte> state) override;
    std::unique_ptr<engine::Policy> clone() const override { return std::make_unique<RandomShares>(*this); }

private:
    std::vector<int64_t> budgets(std::span<const int64_t> lengths, int64_t total, uint64_t salt) const;

    int64_t total_;
    bool coupled_;
    uint64_t seed_;
    std::vector<uint64_t> steps_;               // [layers]
    std::vector<std::vector<int64_t>> lengths_; // [layers][kv_heads], as last observed
};

} // namespace palimpsest::tests
