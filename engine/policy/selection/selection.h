// The selection structure: which entries of one layer's lists are evicted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/policy/eviction_plan.h"
#include "engine/policy/protect.h"
#include "engine/policy/signals/score.h"
#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

// One list in an eviction step, without its pinned entries.
struct ListCut {
    ListView view;
    ProtectedEnds ends;
    ScoreView score;
    // Shaped scores (shaping.h) of all entries or, if pooled, of those before the recent tokens; empty if neither
    // selection nor budget reads_shaped().
    std::span<const double> shaped{};
    bool pooled = false; // shaped scores are pooled over neighbours
    uint32_t slots = 0;  // m: slots between the protected ends
    uint32_t budget = 0; // entries that may be kept: slots + ends + missing pins

    uint32_t size() const { return view.size; }
    uint32_t excess() const { return view.size > budget ? view.size - budget : 0; }
    uint32_t first() const { return std::min(static_cast<uint32_t>(ends.sinks), size()); } // first candidate
    uint32_t end() const                                                                   // end of the candidates
    {
        return std::max(size() - std::min(static_cast<uint32_t>(ends.recent), size()), first());
    }
    uint32_t candidates() const { return end() - first(); }
    // How many candidates are kept. REQUIRES: excess() > 0.
    uint32_t chosen() const { return candidates() - excess(); }
};

class Selection {
public:
    virtual ~Selection() = default;

    // True if the selection reads ListCut::shaped.
    virtual bool reads_shaped() const { return false; }
    // True if lists of equal length and slots always evict equally many entries.
    virtual bool heads_alike() const { return true; }
    // Most entries that a list evicts for one appended token.
    virtual uint32_t max_evicted_per_token() const { return 1; }
    // True if select of a layer needs the result of the layer below.
    virtual bool couples_layers() const { return false; }

    // Appends to each (empty) vector of `dropped` the entries to evict from that head's list, ascending, so that at
    // most `budget` are kept. Called in stream order within a layer.
    virtual void select(int32_t layer, std::span<const ListCut> heads,
                        std::vector<std::vector<uint32_t>>& dropped) = 0;
    // True if plan may be called instead of select, for a backend that compares scores by rule()
    // (kernels/eviction.h; the policy fills in score and pooling). plan changes the state as select does. Its
    // `heads` have sizes, ends, slots and budgets, but no scores; its `plan` was reset to their sizes.
    virtual bool plans() const { return false; }
    virtual kernels::SelectionRule rule() const { return {}; }
    virtual void plan(int32_t /*layer*/, std::span<const ListCut> /*heads*/, EvictionPlan& /*plan*/) {}
    // The merges of the last select, per head, or empty; their numbers are entries, not ranks.
    virtual std::span<const std::vector<Merge>> merges() const { return {}; }

    virtual void save(StateWriter& out) const = 0;
    // If it throws, the selection may be partly loaded; callers load into a clone.
    virtual void load(StateReader& in) = 0;
    virtual std::unique_ptr<Selection> clone() const = 0;
};

// A selection without state.
template<class Derived>
class StatelessSelection : public Selection {
public:
    void save(StateWriter&) const override {}
    void load(StateReader&) override {}
    std::unique_ptr<Selection> clone() const override
    {
        return std::make_unique<Derived>(static_cast<const Derived&>(*this));
    }
};

} // namespace palimpsest::engine
