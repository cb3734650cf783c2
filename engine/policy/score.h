// Axis B: which attention a policy wants counted, and the importance it reads from it (policies.md, 3.1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/policy/policy.h"

namespace palimpsest::engine {

enum class ScoreKind : uint8_t {
    None,
    Mean, // attention per query that could see the entry, over all queries
    Sum,  // attention of all queries, which favours old entries
    Last, // attention of the newest query
};

SignalNeeds signals_of(ScoreKind kind);

// Reads the importance of single entries, so that a selection pays only for those it compares.
struct ScoreView {
    ScoreKind kind = ScoreKind::None;
    ListState list;
    std::span<const uint32_t> ranks{}; // of the entries a policy sees; empty: all of the list

    // REQUIRES: kind != None.
    double operator()(size_t entry) const
    {
        const size_t rank = ranks.empty() ? entry : ranks[entry];
        return kind == ScoreKind::Mean ? list.sum[rank] / list.count[rank] : list.sum[rank];
    }
};

} // namespace palimpsest::engine
