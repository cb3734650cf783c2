// Divides a layer's slots between its heads: heads whose attention is focused on few tokens give some to heads
// whose attention is spread out (Ada-KV; docs/policies-spec.md, adakv).
#pragma once

#include "engine/policy/budgets/budget.h"
#include "engine/policy/selection/worst_candidates.h"

namespace palimpsest::engine {

class HeadShares final : public Budget {
public:
    // `layers`: gives the slots of each list before they are shared. `floor`: the share of them that a head always
    // keeps, in [0, 1]. `most`: most slots that a list may get, so that its positions fit the context.
    HeadShares(std::unique_ptr<Budget> layers, int32_t kv_heads, double floor, int64_t most);
    HeadShares(const HeadShares& other);

    int32_t most(int32_t layer) const override;
    int64_t total() const override { return layers_->total(); }
    bool couples_layers() const override { return layers_->couples_layers(); }
    bool heads_alike() const override { return false; }
    bool reads_shaped() const override { return true; }
    void add_needs(SignalNeeds& needs) const override { layers_->add_needs(needs); }
    void observe(int32_t layer, std::span<const ListCut> heads, const LayerObservation& seen) override
    {
        layers_->observe(layer, heads, seen);
    }
    void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) override;
    void save(StateWriter& out) const override { layers_->save(out); }
    void load(StateReader& in) override { layers_->load(in); }
    std::unique_ptr<Budget> clone() const override { return std::make_unique<HeadShares>(*this); }

private:
    std::span<const Candidate> best_of(std::span<const ListCut> heads, size_t count);
    void count_best(std::span<const ListCut> heads, size_t best, std::vector<double>& counts);

    std::unique_ptr<Budget> layers_;
    int32_t kv_heads_;
    double floor_;
    int64_t most_;
    WorstCandidates worst_;             // scratch
    std::vector<Candidate> candidates_; // scratch
};

} // namespace palimpsest::engine
