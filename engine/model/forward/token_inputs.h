// The inputs that change from one generated token to the next, in one block of backend memory, so that the
// operations on them can be recorded once: the token id, the length of every list, and every layer's eviction plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/eviction_plan.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

class TokenInputs {
public:
    TokenInputs(int32_t layers, int32_t kv_heads) : layers_(layers), kv_heads_(kv_heads) {}

    void reserve(int64_t plan_words, kernels::Backend& backend); // plan_words: per layer; throws Error (Resources)
    // Makes room for these plans. Returns true if the block has moved: recordings that use it are then invalid.
    bool fit(std::span<const EvictionPlan> plans, kernels::Backend& backend);
    // Uploads the inputs of a token; `used`: [layers, kv_heads] list lengths without the token. REQUIRES: fit.
    void send(int32_t id, std::span<const int32_t> used, std::span<const EvictionPlan> plans,
              kernels::Backend& backend);

    // Backend memory.
    const int32_t* id() const { return block_.data<int32_t>(); }
    const int32_t* used(int32_t layer) const { return block_.data<int32_t>() + 1 + layer * kv_heads_; }
    const uint32_t* plan(int32_t layer) const { return block_.data<uint32_t>() + plans_at() + layer * plan_words_; }

    size_t allocated_bytes() const { return block_.bytes() + words_.capacity() * sizeof(uint32_t); }

private:
    int64_t plans_at() const { return 1 + int64_t{layers_} * kv_heads_; }

    int32_t layers_, kv_heads_;
    int64_t plan_words_ = 0; // per layer
    kernels::Buffer block_;
    std::vector<uint32_t> words_;
};

} // namespace palimpsest::engine
