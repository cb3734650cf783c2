// Budgets that give each list as many slots as it needs to hold a given share of the attention, up to a cap
// (docs/policies-spec.md, refreekv and twilight-evict).
#pragma once

#include <vector>

#include "engine/policy/budgets/budget.h"

namespace palimpsest::engine {

// The order in which entries are added until the threshold is reached.
enum class Ranking : uint8_t {
    Position, // sinks, then the others from newest to oldest
    Score,    // sinks and recent tokens, then the others from best to worst
};

// The numbers whose norm is computed.
enum class NormOf : uint8_t {
    Heads,  // each query head's attention; the norms are averaged, as in ReFreeKV's released code
    Scores, // the policy's scores in all lists of the layer together
    Mean,   // the mean attention over the layer's heads
};

// ReFreeKV: keeps the first entries of a ranking that hold 1 - threshold of the attention's norm, averaged over the
// layer's query heads. Each list has its own ranking; all lists of a layer get the same length. The lowest
// `full_layers` layers get the cap. Cost: a square root per entry and query head.
class NormThreshold final : public Budget {
public:
    struct Rule {
        double threshold = 0.01;
        Ranking ranking = Ranking::Position;
        NormOf norm = NormOf::Heads;
        int32_t mask_sinks = 0; // the first entries of a list, whose attention counts as 0 in norms
        int32_t full_layers = 0;
        int64_t least = 0; // slots a list gets in any case
    };
    NormThreshold(Rule rule, const PolicyContext& context, int64_t cap);

    int32_t most(int32_t) const override { return static_cast<int32_t>(cap_); }
    int64_t total() const override { return cap_ * lists_; }
    bool reads_shaped() const override { return true; }
    void add_needs(SignalNeeds& needs) const override;
    void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) override;
    std::unique_ptr<Budget> clone() const override { return std::make_unique<NormThreshold>(*this); }

private:
    void rank(const ListCut& list);
    bool is_masked(uint32_t entry) const { return entry < static_cast<uint32_t>(rule_.mask_sinks); }
    template<class Attention>
    void add_norms(const Attention& attention);
    void add_norms_of_heads(std::span<const ListCut> heads);
    void add_norm_of_scores(std::span<const ListCut> heads);
    void add_norms_of_mean(std::span<const ListCut> heads);
    int64_t smallest_count(std::span<const ListCut> heads);

    Rule rule_;
    int64_t cap_, lists_;
    // Scratch. order_: one list's entries in the order of the ranking. norms_[i]: norm of the attention to the
    // first i entries of that order, summed over heads.
    std::vector<uint32_t> order_;
    std::vector<double> norms_;
};

// Twilight's top-p as an eviction budget: takes entries best first until they hold this share of the list's
// attention. The slots are the number of taken entries between the protected ends.
class MassThreshold final : public Budget {
public:
    MassThreshold(double share, const PolicyContext& context, int64_t cap);

    int32_t most(int32_t) const override { return static_cast<int32_t>(cap_); }
    int64_t total() const override { return cap_ * lists_; }
    bool heads_alike() const override { return false; }
    bool reads_shaped() const override { return true; }
    void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) override;
    std::unique_ptr<Budget> clone() const override { return std::make_unique<MassThreshold>(*this); }

private:
    int64_t selectable(const ListCut& list);

    double share_;
    int64_t cap_, lists_;
    std::vector<uint32_t> order_; // scratch
};

} // namespace palimpsest::engine
