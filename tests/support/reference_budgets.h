// How many slots every list has to choose (policies.md, 4.7, 4.13, 4.14 and the crossings), by layer and KV head.
#pragma once

#include <vector>

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

// Lists of one layer as a policy sees them, pinned entries left out, and their scores in its own shape.
struct ReferenceLayer {
    std::vector<const ReferenceList*> lists; // per KV head
    std::vector<std::vector<double>> shaped; // [KV head][n], empty where nothing asks for it
    double weight = 1;                       // of an observed allocation
    int longest() const;
};

// Scores in the policy's own shape: averaged over the layer where it says so; pooled over [0, n - w).
std::vector<std::vector<double>> shaped_scores(const ReferenceSettings& settings,
                                               const std::vector<const ReferenceList*>& lists);

// What a layer asks of the others (4.13), right after a chunk that filled the window.
double cake_preference(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
                       const std::vector<std::vector<double>>& entropies);

// m of every list: [layer][head]. `most`: of one list, whatever it is lent.
std::vector<std::vector<int>> slots_of(const ReferenceSettings& settings, const std::vector<ReferenceLayer>& layers,
                                       int most);

} // namespace palimpsest::tests
