// Signal and score: what a policy accumulates of attention or keys, and the score it computes from it.
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
    Mean,         // attention received, divided by the number of queries that could see the entry
    Total,        // attention received, undivided, which favours old entries
    FewLow,       // minus the low count: the number of queries that gave the entry less than a uniform share
    SmallNorm,    // minus the norm of the key
    Dissimilar,   // minus the mean cosine between the key and the keys of the list
    MeanVariance, // mean over the group's query heads of: mean plus gamma times variance over queries (CAKE)
};

struct Signal {
    ScoreKind kind = ScoreKind::None;
    int32_t window = SignalNeeds::none; // omega: how many of the newest queries count
    double window_percent = 0;          // > 0: omega as a percentage of the list
    double gamma = 0;                   // for MeanVariance
    int32_t outside_newest = -1; // >= 0: a row is divided by its sum over all entries but this many of the newest

    SignalNeeds needs() const;
};

// Maps NaN to minus infinity, so that scores are totally ordered.
inline double ordered(double score)
{
    return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
}

// Computes the scores of single entries, so that a selection computes only those it compares.
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
        case ScoreKind::SmallNorm:
        case ScoreKind::Dissimilar:
            return -view.list.sum[rank];
        case ScoreKind::MeanVariance:
            return mean_variance(rank);
        default:
            return view.list.sum[rank];
        }
    }
    // Computes the scores of the first to.size() entries.
    void read(std::span<double> to) const;
    // Sum over the group's query heads of the unbiased variance over queries; 0 for a head with fewer than two
    // queries.
    double variances(size_t rank) const;

private:
    double mean_variance(size_t rank) const;
};

} // namespace palimpsest::engine
