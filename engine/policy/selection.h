// Axis D: which entries of the lists of one layer leave (policies.md, 2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/policy/eviction_plan.h"
#include "engine/policy/protect.h"
#include "engine/policy/score.h"
#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

// One list that may have to be cut.
struct ListCut {
    ListView view;
    ProtectedEnds ends;
    ScoreView score;
    // The scores as axis C has shaped them, of all entries or, pooled, of those before the recent window; empty for
    // a selection and a budget that read single scores at most.
    std::span<const double> shaped{};
    bool pooled = false; // shaped scores are those of neighbourhoods
    uint32_t slots = 0;  // m: entries between the protected ends
    uint32_t budget = 0; // entries that may stay: slots, ends, and those in the slots of missing pins

    uint32_t size() const { return view.size; }
    uint32_t excess() const { return view.size > budget ? view.size - budget : 0; }
    uint32_t first() const { return std::min(static_cast<uint32_t>(ends.sinks), size()); } // candidate
    uint32_t end() const                                                                   // of the candidates
    {
        return std::max(size() - std::min(static_cast<uint32_t>(ends.recent), size()), first());
    }
    uint32_t candidates() const { return end() - first(); }
    // How many of them stay. REQUIRES: excess() > 0.
    uint32_t chosen() const { return candidates() - excess(); }
};

class Selection {
public:
    virtual ~Selection() = default;

    // True if it compares many scores: then ListCut::shaped is there.
    virtual bool reads_shaped() const { return false; }
    // True if lists of equal length and slots always lose equally many.
    virtual bool heads_alike() const { return true; }
    // A list gives up at most this many entries for one that came.
    virtual uint32_t leaving_at_once() const { return 1; }
    // True if select of a layer needs that of the layer below first.
    virtual bool couples_layers() const { return false; }

    // Appends to each (empty) vector of `dropped` the entries that leave that head's list, ascending, so that at
    // most `budget` stay. Called in stream order within a layer.
    virtual void select(int32_t layer, std::span<const ListCut> heads,
                        std::vector<std::vector<uint32_t>>& dropped) = 0;
    // Whether plan may come instead of select, for a backend that compares scores by `rule` (kernels/eviction.h;
    // its score and what axis C makes of it are the policy's). Both leave the same state. `heads` have sizes, ends,
    // slots and budgets, but no score; `plan` is reset to their sizes.
    virtual bool plans() const { return false; }
    virtual kernels::SelectionRule rule() const { return {}; }
    virtual void plan(int32_t /*layer*/, std::span<const ListCut> /*heads*/, EvictionPlan& /*plan*/) {}
    // Of the last select, in entries, per head; or empty.
    virtual std::span<const std::vector<Merge>> merges() const { return {}; }

    virtual void save(StateWriter& out) const = 0;
    // May leave the selection half read when it throws; callers load into a clone.
    virtual void load(StateReader& in) = 0;
    virtual std::unique_ptr<Selection> clone() const = 0;
};

// A selection that remembers nothing.
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
