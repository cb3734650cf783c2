// The budget of a policy: how many slots each list has between its protected ends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/policy/selection/selection.h"
#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

class Budget {
public:
    virtual ~Budget() = default;

    // Most slots that a list of this layer may have, and that all lists together may have.
    virtual int32_t most(int32_t layer) const = 0;
    virtual int64_t total() const = 0;
    // is_uniform: all lists always have equally many slots. is_constant: the slots of a list never change.
    // follows_sizes: they depend on the sizes of the lists alone, so that they can be planned without scores.
    virtual bool is_uniform() const { return false; }
    virtual bool is_constant() const { return false; }
    virtual bool follows_sizes() const { return is_constant(); }
    virtual bool couples_layers() const { return false; }
    // True if the lists of a layer always have equally many slots.
    virtual bool heads_alike() const { return true; }
    // reads_shaped: `slots` needs ListCut::shaped. needs_signals: it needs signals of any kind.
    virtual bool reads_shaped() const { return false; }
    virtual bool needs_signals() const { return reads_shaped(); }
    // Adds the signals that the budget needs to those that the scores need.
    virtual void add_needs(SignalNeeds&) const {}

    // Called before `slots` in each step: for all layers first if the budget couples layers.
    virtual void observe(int32_t /*layer*/, std::span<const ListCut> /*heads*/, const LayerObservation& /*seen*/) {}
    // Computes the slots of every list of the layer from the lists' current state.
    virtual void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) = 0;

    virtual void save(StateWriter&) const {}
    virtual void load(StateReader&) {}
    virtual std::unique_ptr<Budget> clone() const = 0;
};

} // namespace palimpsest::engine
