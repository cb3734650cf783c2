// A cache policy: after every chunk it names, per layer and KV head, the ranks that leave (policies.md).
//
// A policy is a composition of axes (budget, signal, selection structure, protected sets, positions); it moves no
// key and sees no backend. Its state (cursors, levels) is one value per layer, because prefill runs layer by layer
// over several chunks; at every point where a session is consistent, all layers have seen the same chunks.
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

// A budget for policies that can do without one (`--budget none`): lists grow until the context is full.
inline constexpr int32_t no_budget = std::numeric_limits<int32_t>::max();

// What a policy is built for. Budgets are per (layer, KV head), policies.md section 1.
struct PolicyContext {
    int32_t layers = 0;
    int32_t kv_heads = 0;
    int32_t budget = 0; // c >= 1, pinned tokens included; or no_budget
    Pins pins{};
    int32_t context = std::numeric_limits<int32_t>::max(); // positions of the model: no list ever holds more
    int32_t chunk = 0; // b: a list that others lend slots to stays below context - b
};

// What the policy reads from attention (policies.md, 3.1), over the last `window` queries of the stream.
struct SignalNeeds {
    static constexpr int32_t none = 0;
    static constexpr int32_t all = std::numeric_limits<int32_t>::max();
    int32_t window = none; // omega
    // > 0: omega is this percentage of the list instead, chunk included, anew for every chunk.
    double window_percent = 0;
    bool low_counts = false;   // ListState::sum counts low rows instead of attention
    bool head_moments = false; // ListState::moments
    bool entropies = false;    // LayerObservation::entropies
    int32_t outside_newest =
        -1; // >= 0: rows are divided by what they give to all but so many of the newest entries
    kernels::RowStatistic row_statistic = kernels::RowStatistic::None; // LayerObservation::row_statistic
    int32_t statistics_rows = 1; // chunks of fewer tokens need no entropies and no row statistic

    bool any() const { return window != none || window_percent > 0; }
    int32_t window_of(size_t list) const // omega for a list of this size, the chunk included
    {
        if (window_percent <= 0) return window;
        return std::max(1, static_cast<int32_t>(window_percent * static_cast<double>(list) / 100.0 + 1e-9));
    }
};

// One (layer, KV head) list before eviction, in rank order; all but `stream` are empty for a policy that does not
// ask for them.
struct ListState {
    std::span<const uint32_t> stream; // stream indices, ascending
    std::span<const double> sum;      // attention received, mean over the group's query heads; or low rows
    std::span<const double> count;    // queries counted in it
    std::span<const double>
        moments{}; // [n, group, 2]: per query head, attention received and the sum of its squares
    size_t size() const { return stream.size(); }
};

// What attention of the newest chunk showed beside what lists accumulate, for one layer.
struct LayerObservation {
    int32_t rows = 0;                                // of the chunk, b; 0 where no chunk came: the end of a reading
    double row_statistic = 0;                        // mean over the last min(b, omega) rows and all query heads
    std::vector<std::span<const float>> entropies{}; // per KV head [n], over the same rows, summed over the group
};

// Keys that a mean is taken of: as they come from the projection, or as attention reads them at their positions.
enum class KeyMean : uint8_t { Raw, Rotated };

// Entries whose mean one of them becomes: keys, values and what was accumulated.
struct Merge {
    uint32_t into = 0;        // rank, one of `of`
    std::vector<uint32_t> of; // ranks, ascending
    KeyMean keys = KeyMean::Raw;
};

// A policy that evicts nothing but reads only part of a list for every generated token (policies.md, 4.15, 4.16).
struct Retrieval {
    int32_t page = 16;         // ranks
    int32_t tokens = 0;        // c: longer lists are read in part
    int32_t skip_layers = 2;   // the first layers read everything
    double top_p = 0;          // 0: pages only
    std::vector<bool> whole{}; // [layers] that read everything; empty: the first skip_layers
    int32_t most_pages() const { return std::max(3, tokens / page); }
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
    virtual bool bounded() const = 0; // false: lists grow up to list_budget, and then nothing more can be read
    virtual bool layer_bounded(int32_t /*layer*/) const { return bounded(); } // the same of one layer's lists
    virtual bool watches(int32_t /*layer*/) const { return true; } // false: `signals` are not needed of the layer
    // True if eviction in one layer looks at other layers; prefill then runs chunk by chunk through all layers.
    virtual bool couples_layers() const = 0;
    // True if the lists of a layer are always equally long, pinned entries included; the policy may rely on it.
    virtual bool heads_alike() const { return true; }
    // True if the lists of a layer always hold the same tokens; the policy may rely on it.
    virtual bool heads_hold_same() const { return false; }
    // Most entries the list may hold after select, at least 1.
    virtual int32_t list_budget(int32_t layer, int32_t head) const = 0;
    // The same of a list that is not cut to the window of a local layer.
    virtual int32_t capacity() const { return list_budget(0, 0); }
    // Most entries all lists together may hold after select: less than the sum of the above where they share.
    virtual int64_t total_budget() const = 0;
    virtual std::optional<Retrieval> retrieval() const { return std::nullopt; }

    // Once per layer and chunk, before select; for a policy that couples layers all of them come before the first
    // select, otherwise in any order among layers. What `heads` point to must be there until then.
    virtual void observe(int32_t layer, std::span<const ListState> heads, const LayerObservation& seen) = 0;
    // The ranks that leave each head's list of this layer, ascending; `dropped` has one vector per head and is
    // overwritten. Called once per layer and chunk, in stream order within a layer, and with ascending layers if
    // layers are coupled.
    virtual void select(int32_t layer, std::span<const ListState> heads,
                        std::vector<std::vector<uint32_t>>& dropped) = 0;
    // Whether select splits into a plan, which no score is needed for, and comparing scores where they are
    // (kernels/eviction.h). Then plan may come instead of select, in the same order, and leaves the same state;
    // nothing is observed and nothing merges. `sizes`: [kv_heads], with the step's own tokens; `pinned` of them
    // are, [kv_heads], or empty where holds_pins is false.
    virtual bool plans() const { return false; }
    virtual kernels::SelectionRule selection_rule() const { return {}; }
    // The most tokens that leave a list after a generated token, once it is within its budget.
    virtual int32_t leaving_at_once() const { return 1; }
    virtual void plan(int32_t /*layer*/, std::span<const uint32_t> /*sizes*/, std::span<const uint32_t> /*pinned*/,
                      EvictionPlan& /*plan*/)
    {
    }
    // Whether there are pins that the layer's lists must not lose.
    virtual bool holds_pins(int32_t /*layer*/) const { return false; }
    // What to average before the entries of the last select leave: per head, or empty.
    virtual std::span<const std::vector<Merge>> merges() const { return {}; }

    // True for schedule=once until the reading has ended: nothing leaves before. After end_reading, one observe and
    // select per layer without a chunk; then nothing leaves any more.
    virtual bool waits_for_end() const { return false; }
    virtual void end_reading() {}
    // A policy that takes the place of one whose reading has ended: nothing leaves any more, and no eviction is
    // due.
    virtual void resume_ended() {}

    // Cursors and levels. restore throws Error (Failed) if the bytes do not fit this policy.
    virtual std::vector<std::byte> state() const = 0;
    virtual void restore(std::span<const std::byte> state) = 0;
    virtual std::unique_ptr<Policy> clone() const = 0;
};

// Throws Error (Usage) for an unknown name or key ("did you mean"), a value out of range, a combination that
// policies.md refuses, or pins that leave too little (PAL-PIN-01).
std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyContext& context);

} // namespace palimpsest::engine
