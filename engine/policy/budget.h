// Axis A: how many entries each list may hold between its protected ends (policies.md, 2).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/policy/selection.h"
#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

class Budget {
public:
    virtual ~Budget() = default;

    // Slots of a list of this layer, and of all lists together, at most.
    virtual int32_t most(int32_t layer) const = 0;
    virtual int64_t total() const = 0;
    // True if all lists always have the same slots; if those of a list never change; and if they depend on the
    // lists' sizes at most.
    virtual bool is_uniform() const { return false; }
    virtual bool is_constant() const { return false; }
    virtual bool follows_sizes() const { return is_constant(); }
    virtual bool couples_layers() const { return false; }
    // True if the lists of a layer always have the same slots.
    virtual bool heads_alike() const { return true; }
    // True if `slots` needs ListCut::shaped; and if it needs attention in any form.
    virtual bool reads_shaped() const { return false; }
    virtual bool needs_signals() const { return reads_shaped(); }
    // Adds what it needs of attention beside the scores.
    virtual void add_needs(SignalNeeds&) const {}

    // Before the slots of a step are asked for; of all layers if it couples them.
    virtual void observe(int32_t /*layer*/, std::span<const ListCut> /*heads*/, const LayerObservation& /*seen*/) {}
    // The slots of every list of the layer, as its lists are now.
    virtual void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) = 0;

    virtual void save(StateWriter&) const {}
    virtual void load(StateReader&) {}
    virtual std::unique_ptr<Budget> clone() const = 0;
};

} // namespace palimpsest::engine
