// Keeps the candidates with the highest scores.
#pragma once

#include <algorithm>

#include "engine/policy/selection/selection.h"
#include "engine/policy/selection/worst_candidates.h"

namespace palimpsest::engine {

// Moves the `k` best of the given entries to the front, in no order; ties prefer the lower entry. Scores are
// indexed by entry. Cost: linear on average.
void best_first(std::vector<uint32_t>& entries, size_t k, std::span<const double> scores);

class TopK : public StatelessSelection<TopK> {
public:
    bool reads_shaped() const override { return true; }
    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;
    bool plans() const override { return true; }
    kernels::SelectionRule rule() const override { return {.select = kernels::SelectRule::Lowest}; }
    void plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan) override;

private:
    void drop_worst(const ListCut& list, std::vector<uint32_t>& dropped);

    WorstCandidates worst_;         // scratch
    std::vector<uint32_t> entries_; // scratch
};

// PyramidInfer's funnel (docs/policies-spec.md, pyramidkv, `nested`): a list first evicts the candidates that the
// same head of the layer below no longer holds, even if it is within its budget, then keeps the best of the rest.
class NestedTopK final : public StatelessSelection<NestedTopK> {
public:
    bool reads_shaped() const override { return true; }
    bool heads_alike() const override { return false; }
    bool couples_layers() const override { return true; }
    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;

private:
    void choose(const ListCut& list, bool nested, std::vector<uint32_t>& below, std::vector<uint32_t>& dropped);

    std::vector<std::vector<uint32_t>> below_; // [kv_heads] stream indices that the layer below holds
    std::vector<uint32_t> entries_;            // scratch
};

} // namespace palimpsest::engine
