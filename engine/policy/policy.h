// A cache policy: after every chunk it names, per layer and KV head, the ranks that leave (policies.md).
//
// A policy is a composition of axes (budget, signal, selection structure, protected sets, positions); it moves no
// key and sees no backend. Its state (cursors, levels) is one value per layer, because prefill runs layer by layer
// over several chunks; at every point where a session is consistent, all layers have seen the same chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/policy/pins.h"
#include "engine/policy/policy_spec.h"

namespace palimpsest::engine {

enum class PositionMode : uint8_t { Contiguous, Original };

// What a policy is built for. Budgets are per (layer, KV head), policies.md section 1.
struct PolicyContext {
    int32_t layers = 0;
    int32_t kv_heads = 0;
    int32_t budget = 0; // c >= 1, pinned tokens included
    Pins pins{};
};

// What the policy reads from attention (policies.md, 3.1): column sums over the last `window` queries of the
// stream.
struct SignalNeeds {
    static constexpr int32_t none = 0;
    static constexpr int32_t all = std::numeric_limits<int32_t>::max();
    int32_t window = none;
    bool any() const { return window != none; }
};

// One (layer, KV head) list before eviction, in rank order; sums and counts are empty for a policy without signals.
struct ListState {
    std::span<const uint32_t> stream; // stream indices, ascending
    std::span<const double> sum;      // attention received, mean over the group's query heads
    std::span<const double> count;    // queries counted in it
    size_t size() const { return stream.size(); }
};

class Policy {
public:
    virtual ~Policy() = default;

    // The spec with every parameter spelled out, defaults included.
    virtual const PolicySpec& resolved() const = 0;
    virtual SignalNeeds signals() const = 0;
    virtual PositionMode default_positions() const = 0;
    virtual bool bounded() const = 0; // false: keeps everything, the budget is a capacity
    // True if eviction in one layer looks at other layers; prefill then runs chunk by chunk through all layers.
    virtual bool couples_layers() const = 0;
    // Most entries the list may hold after select, at least 1.
    virtual int32_t list_budget(int32_t layer, int32_t head) const = 0;

    // The ranks that leave each head's list of this layer, ascending; `dropped` has one vector per head and is
    // overwritten. Called once per layer and chunk, in stream order within a layer.
    virtual void select(int32_t layer, std::span<const ListState> heads,
                        std::vector<std::vector<uint32_t>>& dropped) = 0;

    // Cursors and levels. restore throws Error (Failed) if the bytes do not fit this policy.
    virtual std::vector<std::byte> state() const = 0;
    virtual void restore(std::span<const std::byte> state) = 0;
    virtual std::unique_ptr<Policy> clone() const = 0;
};

// Throws Error (Usage) for an unknown name or key ("did you mean"), a value out of range, a combination that
// policies.md refuses, or pins that leave too little (PAL-PIN-01).
std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyContext& context);

} // namespace palimpsest::engine
