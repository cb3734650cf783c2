// Axis B: which attention a policy wants counted, and the importance it reads from it (policies.md, 3.1).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/policy/list_view.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

enum class ScoreKind : uint8_t {
    None,
    Mean,         // attention per query that could see the entry
    Total,        // attention received, which favours old entries
    FewLow,       // minus the number of queries that gave the entry less than its uniform share
    MeanVariance, // the mean plus gamma times the variance over queries, per query head (CAKE)
};

struct Signal {
    ScoreKind kind = ScoreKind::None;
    int32_t window = SignalNeeds::none; // omega: the newest queries that count
    double window_percent = 0;          // > 0: omega in percent of the list
    double gamma = 0;                   // of MeanVariance
    int32_t outside_newest = -1;        // >= 0: queries are normalised over all but so many of the newest entries

    SignalNeeds needs() const;
};

// What is not a number is the least of all, or nothing would be in order.
inline double ordered(double score)
{
    return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
}

// Reads the importance of single entries, so that a selection pays only for those it compares.
struct ScoreView {
    Signal signal;
    ListView view;

    // REQUIRES: signal.kind != None.
    double operator()(size_t entry) const
    {
        const size_t rank = view.rank(entry);
        switch (signal.kind) {
        case ScoreKind::Mean:
            return view.list.sum[rank] / view.list.count[rank];
        case ScoreKind::FewLow:
            return -view.list.sum[rank];
        case ScoreKind::MeanVariance:
            return mean_variance(rank);
        default:
            return view.list.sum[rank];
        }
    }
    // The first to.size() entries at once.
    void read(std::span<double> to) const;
    // Sum over the group's heads of the unbiased variance over queries; 0 where fewer than two count.
    double variances(size_t rank) const;

private:
    double mean_variance(size_t rank) const;
};

} // namespace palimpsest::engine
