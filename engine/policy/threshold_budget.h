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

// ReFreeKV: as many entries as hold 1 - threshold of the norm of the layer's attention, each list in its own order
// and all lists of the layer to the same length. The first `full_layers` layers keep the cap.
class NormThreshold final : public Budget {
public:
    struct Rule {
        double threshold = 0.01;
        Ranking ranking = Ranking::Position;
        int32_t full_layers = 0;
        int32_t least = 0; // slots that are kept in any case
    };
    NormThreshold(Rule rule, const PolicyContext& context, int64_t cap);

    int32_t most(int32_t) const override { return static_cast<int32_t>(cap_); }
    int64_t total() const override { return cap_ * lists_; }
    bool reads_shaped() const override { return true; }
    void slots(int32_t layer, std::span<const ListCut> heads, std::span<int32_t> result) override;
    std::unique_ptr<Budget> clone() const override { return std::make_unique<NormThreshold>(*this); }

private:
    void rank(const ListCut& list);
    int64_t smallest_count(std::span<const ListCut> heads);

    Rule rule_;
    int64_t cap_, lists_;
    std::vector<uint32_t> order_; // scratch: one list's entries as they are counted
    std::vector<double> squares_; // scratch: by place in the order, of all lists
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
