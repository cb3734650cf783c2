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

    // Most slots of a list of this layer, and of all lists together.
    virtual int32_t most(int32_t layer) const = 0;
    virtual int64_t total() const = 0;
    // True if all lists always have equally many slots; if a list's slots never change; and if they depend on
    // nothing but list sizes.
    virtual bool is_uniform() const { return false; }
    virtual bool is_constant() const { return false; }
    virtual bool follows_sizes() const { return is_constant(); }
    virtual bool couples_layers() const { return false; }
    // True if the lists of a layer always have equally many slots.
    virtual bool heads_alike() const { return true; }
    // True if `slots` needs ListCut::shaped; and if it needs signals of any kind.
    virtual bool reads_shaped() const { return false; }
    virtual bool needs_signals() const { return reads_shaped(); }
    // Adds the signals it needs beside those of the scores.
    virtual void add_needs(SignalNeeds&) const {}

    // Called before `slots` in each step; for all layers first if it couples layers.
    virtual void observe(int32_t /*layer*/, std::span<const ListCut> /*heads*/, const LayerObservation& /*seen*/) {}
    // Computes the slots of every list of the layer from the lists' current state.
    virtual void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) = 0;

    virtual void save(StateWriter&) const {}
    virtual void load(StateReader&) {}
    virtual std::unique_ptr<Budget> clone() const = 0;
};

} // namespace palimpsest::engine
