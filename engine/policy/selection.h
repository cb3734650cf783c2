// Axis D: which entries of the lists of one layer leave (policies.md, 2).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/policy/protect.h"
#include "engine/policy/score.h"
#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

// One list over its budget: REQUIRES size > budget.
struct Overfull {
    uint32_t size = 0;
    uint32_t budget = 0;
    ProtectedEnds ends;
    ScoreView score;
};

class Selection {
public:
    virtual ~Selection() = default;

    // Appends to each (empty) vector of `dropped` the ranks that leave that head's list, ascending, so that at most
    // `budget` entries stay. Called in stream order within a layer.
    virtual void select(int32_t layer, std::span<const Overfull> heads,
                        std::vector<std::vector<uint32_t>>& dropped) = 0;

    virtual void save(StateWriter& out) const = 0;
    // May leave the selection half read when it throws; callers load into a clone.
    virtual void load(StateReader& in) = 0;
    virtual std::unique_ptr<Selection> clone() const = 0;
};

} // namespace palimpsest::engine
