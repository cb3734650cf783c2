// Divides slots between layers by weights that are observed during prefill (docs/policies-spec.md, pyramidkv and
// cake).
#pragma once

#include <cmath>
#include <vector>

#include "engine/policy/budgets/budget.h"

namespace palimpsest::engine {

// The weight of a layer, from its lists before eviction and its newest chunk.
class LayerWeight {
public:
    virtual ~LayerWeight() = default;
    virtual void add_needs(SignalNeeds& needs) const = 0;
    // Returns the natural logarithm of the weight, which does not overflow at low temperatures as the weight would;
    // minus infinity for a weight of 0.
    virtual double log_weight(std::span<const ListCut> heads, const LayerObservation& seen) const = 0;
};

// Weighs a layer by a statistic of its attention rows, which the backend computes; for the adaptive variants of
// PyramidKV's allocation.
class RowWeight final : public LayerWeight {
public:
    explicit RowWeight(kernels::RowStatistic statistic) : statistic_(statistic) {}
    void add_needs(SignalNeeds& needs) const override { needs.row_statistic = statistic_; }
    double log_weight(std::span<const ListCut>, const LayerObservation& seen) const override
    {
        return std::log(seen.row_statistic);
    }

private:
    kernels::RowStatistic statistic_;
};

// CAKE's preference score: entropy and variance of the attention that the entries before the recent tokens receive.
class Preference final : public LayerWeight {
public:
    Preference(double tau1, double tau2) : tau1_(tau1), tau2_(tau2) {}
    void add_needs(SignalNeeds& needs) const override;
    double log_weight(std::span<const ListCut> heads, const LayerObservation& seen) const override;

private:
    double tau1_, tau2_;
};

// Divides mean * layers slots by weight; no layer gets more than `most`, or more than it has candidates. Weights
// come from the last chunk of at least `window` tokens; before the first such chunk they are equal.
class LayerWeightsBudget final : public Budget {
public:
    struct Sizes {
        int32_t layers = 0, kv_heads = 0;
        int64_t mean = 0, most = 0;
        int32_t window = 1;
    };
    LayerWeightsBudget(Sizes sizes, std::shared_ptr<const LayerWeight> weight);

    int32_t most(int32_t) const override { return static_cast<int32_t>(sizes_.most); }
    int64_t total() const override { return sizes_.mean * sizes_.layers * sizes_.kv_heads; }
    bool couples_layers() const override { return true; }
    bool needs_signals() const override { return true; }
    void add_needs(SignalNeeds& needs) const override;
    void observe(int32_t layer, std::span<const ListCut> heads, const LayerObservation& seen) override;
    void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) override;
    void save(StateWriter& out) const override;
    void load(StateReader& in) override;
    std::unique_ptr<Budget> clone() const override { return std::make_unique<LayerWeightsBudget>(*this); }

private:
    Sizes sizes_;
    std::shared_ptr<const LayerWeight> weight_;
    std::vector<double> log_weights_; // [layers]
    std::vector<int64_t> limits_;     // [layers], of the current step
    std::vector<int64_t> shares_;     // [layers], of the current step; empty: not computed yet
};

} // namespace palimpsest::engine
