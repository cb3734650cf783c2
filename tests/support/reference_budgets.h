// How many slots every list has besides sinks and recent tokens (m), by layer and KV head (docs/policies-spec.md:
// pyramidkv, cake, adakv and their combinations with other policies).
#pragma once

#include <vector>

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

// The lists of one layer without pinned entries, with their scores.
struct ReferenceLayer {
    std::vector<const ReferenceList*> lists;        // per KV head
    std::vector<std::vector<double>> plain, shaped; // [KV head][n] before and after pooling; empty if not needed
    long double weight = 1;                         // for observed allocations
    std::vector<std::vector<int>> orders;           // refreekv: the ranks of every list, from refreekv_order()
    int asked = 0;                                  // refreekv: the count that the norms require
    int longest() const;
};

// Scores of the entries, [KV head][n]; the mean over KV heads if the policy uses it. pooled_scores pools all but
// the newest w.
std::vector<std::vector<double>> plain_scores(const ReferenceSettings& settings,
                                              const std::vector<const ReferenceList*>& lists);
std::vector<std::vector<double>> pooled_scores(const ReferenceSettings& settings,
                                               std::vector<std::vector<double>> scores);

// The layer's preference score after a chunk that filled the window (docs/policies-spec.md, cake). long double, so
// that no temperature overflows it.
long double cake_preference(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
                            const std::vector<std::vector<double>>& entropies);

// Slots m of every list: [layer][head]. `most`: limit of one list, including slots that heads lend.
std::vector<std::vector<int>> slots_of(const ReferenceSettings& settings, const std::vector<ReferenceLayer>& layers,
                                       int most);

} // namespace palimpsest::tests
