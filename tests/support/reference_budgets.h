// Number of selectable slots of every list, by layer and KV head (docs/policies-spec.md: pyramidkv, cake, adakv and
// their combinations with other policies).
#pragma once

#include <vector>

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

// The lists of one layer without pinned entries, with their scores.
struct ReferenceLayer {
    std::vector<const ReferenceList*> lists;        // per KV head
    std::vector<std::vector<double>> plain, shaped; // [KV head][n] before and after pooling; empty if not needed
    long double weight = 1;                         // for observed allocations
    std::vector<std::vector<int>> orders;           // refreekv: ranks of every list in counting order,
    int asked = 0;                                  // and the count that the norms require
    int longest() const;
};

// Scores of the entries, [KV head][n]; averaged over the layer if the policy does so. pooled_scores pools [0, n -
// w).
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
