// A policy that keeps every token and records the attention that each receives.
#pragma once

#include "engine/policy/policy.h"

namespace palimpsest::engine {

class RecordAllPolicy final : public Policy {
public:
    // `lists`: of the model, layers * KV heads; `room`: the most tokens of each.
    RecordAllPolicy(int64_t lists, int32_t room, const SignalNeeds& needs)
        : lists_(lists), room_(room), needs_(needs)
    {
    }

    const PolicySpec& resolved() const override { return spec_; }
    SignalNeeds signals() const override { return needs_; }
    PositionMode default_positions() const override { return PositionMode::Contiguous; }
    bool bounded() const override { return false; }
    bool couples_layers() const override { return false; }
    bool heads_alike() const override { return false; }
    int32_t list_budget(int32_t, int32_t) const override { return room_; }
    int64_t total_budget() const override { return lists_ * room_; }
    void observe(int32_t, std::span<const ListState>, const LayerObservation&) override {}
    void select(int32_t, std::span<const ListState> heads, std::vector<std::vector<uint32_t>>& dropped) override
    {
        dropped.assign(heads.size(), {});
    }
    std::vector<std::byte> state() const override { return {}; }
    void restore(std::span<const std::byte>) override {}
    std::unique_ptr<Policy> clone() const override { return std::make_unique<RecordAllPolicy>(*this); }

private:
    PolicySpec spec_{"full", {}};
    int64_t lists_;
    int32_t room_;
    SignalNeeds needs_;
};

} // namespace palimpsest::engine
