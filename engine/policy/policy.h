// A cache policy: after every chunk it selects the ranks to evict, per layer and KV head (docs/policies-spec.md).
//
// A policy is composed of budget, signals, score, structure, protection and schedule; it moves no keys and does not
// use a backend. Its state (cursors, levels) is separate for each layer, because prefill takes several chunks
// through one layer before the next layer starts; only between calls of Session have all layers processed the same
// chunks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/policy/eviction_plan.h"
#include "engine/policy/pins.h"
#include "engine/policy/policy_spec.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

enum class PositionMode : uint8_t { Contiguous, Original };

// The budget of a policy that works without one: lists grow until the context is full.
inline constexpr int32_t no_budget = std::numeric_limits<int32_t>::max();

// The model and the settings that a policy is made for. Budgets are per layer and KV head.
struct PolicyContext {
    int32_t layers = 0;
    int32_t kv_heads = 0;
    int32_t budget = 0; // c >= 1, pinned tokens included; or no_budget
    Pins pins{};
    // Positions that the model was trained on: no list ever holds more tokens.
    int32_t context = std::numeric_limits<int32_t>::max();
    // b, question rows included: a list that borrows slots from others holds at most context - b tokens.
    int32_t chunk = 0;
};

// The signals a policy needs, over the last `window` queries of the stream.
struct SignalNeeds {
    static constexpr int32_t none = 0;
    static constexpr int32_t all = std::numeric_limits<int32_t>::max();
    int32_t window = none; // omega
    // > 0: omega is this percentage of the list, chunk included, computed anew for every chunk; `window` has no
    // effect.
    double window_percent = 0;
    bool low_counts = false;       // ListState::sum has low counts instead of attention (kernels::SignalRequest)
    bool key_norms = false;        // ListState::sum has the L2 norm of each key instead of attention
    bool key_similarities = false; // ListState::sum has how similar each key is to all keys of the list
    bool head_moments = false;     // ListState::moments
    bool entropies = false;        // LayerObservation::entropies
    // >= 0: each row of attention is normalised over all entries but this many of the newest.
    int32_t outside_newest = -1;
    kernels::RowStatistic row_statistic = kernels::RowStatistic::None; // LayerObservation::row_statistic
    int32_t statistics_rows = 1; // shorter chunks need no entropies and no row statistic

    bool any() const { return window != none || window_percent > 0; }
    // False if what queries attend to has no effect.
    bool attention() const { return any() && !key_norms && !key_similarities; }
    int32_t window_of(size_t list) const // omega for a list of this size, the chunk included
    {
        if (window_percent <= 0) return window;
        return std::max(1, static_cast<int32_t>(window_percent * static_cast<double>(list) / 100.0 + 1e-9));
    }
};

// One list before eviction, in rank order; all but `stream` are empty unless the policy's SignalNeeds request them.
struct ListState {
    std::span<const uint32_t> stream; // stream indices, ascending
    std::span<const double> sum;      // attention received, mean over the group's query heads; with low_counts, the
                                      // number of rows in which that mean is below 1 / (ranks that the row sees);
                                      // with key_norms, the norm of the key, unrotated; with key_similarities,
                                      // its mean cosine with the list's keys
    std::span<const double> count;    // number of queries whose attention is in `sum`
    std::span<const double>
        moments{}; // [n, group, 2]: per query head, attention received and the sum of its squares
    size_t size() const { return stream.size(); }
};

// Signals of the newest chunk for one layer that are not accumulated in the lists.
struct LayerObservation {
    int32_t rows = 0;                                // rows of the chunk, b; 0 at the end of prefill
    double row_statistic = 0;                        // mean over the last min(b, omega) rows and all query heads
    std::vector<std::span<const float>> entropies{}; // per KV head [n], summed over the same rows and the group
};

// Whether keys are averaged before rotation or rotated to their positions.
enum class KeyMean : uint8_t { Raw, Rotated };

// A group of entries, one of which gets the mean of all: of their keys, values and statistics.
struct Merge {
    uint32_t into = 0;        // rank, one of `of`
    std::vector<uint32_t> of; // ranks, ascending
    KeyMean keys = KeyMean::Raw;
};

// A retrieval policy evicts nothing, but reads only a part of each list for every generated token
// (docs/policies-spec.md, quest and twilight).
struct Retrieval {
    int32_t page = 16;       // ranks of a retrieval page
    int32_t tokens = 0;      // c: lists of at most this many tokens are read whole
    int32_t skip_layers = 2; // number of lowest layers that read everything
    double top_p = 0; // twilight: share of attention that the read tokens hold; 0: reads whole retrieval pages
    std::vector<bool> whole{}; // [layers] true: the layer reads everything; empty: the lowest skip_layers do
    int32_t max_pages() const { return std::max(3, tokens / page); }
    bool reads_part_of(int32_t layer) const
    {
        return whole.empty() ? layer >= skip_layers : !whole[static_cast<size_t>(layer)];
    }
};

class Policy {
public:
    virtual ~Policy() = default;

    // The spec with every parameter spelled out, defaults included.
    virtual const PolicySpec& resolved() const = 0;
    virtual SignalNeeds signals() const = 0;
    virtual PositionMode default_positions() const = 0;
    virtual bool bounded() const = 0; // false: lists grow up to list_budget, and then no token can be added
    virtual bool layer_bounded(int32_t /*layer*/) const { return bounded(); } // bounded() for one layer's lists
    virtual bool watches(int32_t /*layer*/) const { return true; } // false: a local layer, which needs no signals
    // True if eviction in one layer depends on other layers; prefill then runs chunk by chunk through all layers.
    virtual bool couples_layers() const = 0;
    // True if the lists of a layer always have equal lengths, pinned entries included. A stored state in which they
    // differ is refused, so that select can rely on it.
    virtual bool heads_alike() const { return true; }
    // True if the lists of a layer always hold the same tokens. A stored state in which they differ is refused,
    // too.
    virtual bool heads_hold_same() const { return false; }
    // Most entries the list may hold after select, at least 1.
    virtual int32_t list_budget(int32_t layer, int32_t head) const = 0;
    // list_budget of a layer that is not local.
    virtual int32_t capacity() const { return list_budget(0, 0); }
    // Most entries that all lists together may hold after select; less than the sum of list_budget if lists share
    // slots.
    virtual int64_t total_budget() const = 0;
    virtual std::optional<Retrieval> retrieval() const { return std::nullopt; }

    // Called once per layer and chunk, before select. For a policy that couples layers, all calls come before the
    // first select; otherwise layers may come in any order. The data of `heads` must stay valid until select.
    virtual void observe(int32_t layer, std::span<const ListState> heads, const LayerObservation& seen) = 0;
    // Sets `dropped` to the ranks to evict from each head's list of this layer, ascending, one vector per head.
    // Called once per layer and chunk, in stream order within a layer, and with ascending layers if layers are
    // coupled.
    virtual void select(int32_t layer, std::span<const ListState> heads,
                        std::vector<std::vector<uint32_t>>& dropped) = 0;
    // True if select can be split into a plan, which needs no score, and comparisons of scores by the backend
    // (kernels/eviction.h). Then plan may be called instead of select, in the same order, and changes the state in
    // the same way; observe is not called, and nothing is merged. `sizes`: [kv_heads], the step's own tokens
    // included; `pinned`: [kv_heads] how many tokens of each list are pinned, or empty if holds_pins is false.
    virtual bool plans() const { return false; }
    virtual kernels::SelectionRule selection_rule() const { return {}; }
    // Most tokens that a list evicts after a generated token, if it was within its budget before that token.
    virtual int32_t max_evicted_per_token() const { return 1; }
    virtual void plan(int32_t /*layer*/, std::span<const uint32_t> /*sizes*/, std::span<const uint32_t> /*pinned*/,
                      EvictionPlan& /*plan*/)
    {
    }
    // True if there are pins that the layer's lists must keep.
    virtual bool holds_pins(int32_t /*layer*/) const { return false; }
    // The merges to perform before the entries of the last select are evicted: per head, or empty.
    virtual std::span<const std::vector<Merge>> merges() const { return {}; }

    // True for schedule=once until prefill has ended; nothing is evicted before. After end_prefill, each layer gets
    // one observe and select without a chunk; after that nothing is evicted any more.
    virtual bool waits_for_end() const { return false; }
    virtual void end_prefill() {}
    // Called on a new policy that replaces one whose prefill has ended. With schedule=once the new policy then
    // never evicts, because its one eviction would have been at that end.
    virtual void resume_ended() {}

    // Saves and restores cursors and levels. restore throws Error (Failed) if the bytes do not fit this policy.
    virtual std::vector<std::byte> state() const = 0;
    virtual void restore(std::span<const std::byte> state) = 0;
    virtual std::unique_ptr<Policy> clone() const = 0;
};

// Throws Error (Usage) for an unknown name or key ("did you mean"), a value out of range, a combination that is not
// possible, or pins that leave too little of the budget (PinsExceedBudget).
std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyContext& context);

} // namespace palimpsest::engine
