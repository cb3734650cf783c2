// Slots that attention itself asks for, within a cap (policies.md, 4.12 and 4.16).
#pragma once

#include <vector>

#include "engine/policy/budget.h"

namespace palimpsest::engine {

// In what order entries are counted until enough is held.
enum class Ranking : uint8_t {
    Position, // sinks, then from the newest back
    Score,    // sinks and the recent window, then the others from the best on
};

// Whose attention a norm is taken of.
enum class NormOf : uint8_t {
    Heads, // of every query head apart, and the norms averaged: ReFreeKV as released
    Scores, // of the policy's scores in all lists of the layer together
    Mean,   // of the mean over the layer's heads
};

// ReFreeKV: the first entries of an order that hold 1 - threshold of the norm of attention, averaged over the
// layer's query heads; each list in its own order and all lists of the layer to the same length. The first
// `full_layers` layers keep the cap. Cost: a square root for every entry and query head.
class NormThreshold final : public Budget {
public:
    struct Rule {
        double threshold = 0.01;
        Ranking ranking = Ranking::Position;
        NormOf norm = NormOf::Heads;
        int32_t mask_sinks = 0; // first entries of a list that count as 0 in norms
        int32_t full_layers = 0;
        int64_t least = 0; // slots that are kept in any case
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
    // Scratch: one list's entries as they are counted; and the sum over heads of the norm of the first i of them.
    std::vector<uint32_t> order_;
    std::vector<double> norms_;
};

// Twilight's top-p, evicting: per list the smallest best-first set that holds this share of all attention, as far
// as it lies between the ends.
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
