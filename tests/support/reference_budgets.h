// How many slots every list has to choose (policies.md, 4.7, 4.13, 4.14 and the crossings), by layer and KV head.
#pragma once

#include <vector>

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

// Lists of one layer as a policy sees them, pinned entries left out, and their scores in its own shape.
struct ReferenceLayer {
    std::vector<const ReferenceList*> lists;        // per KV head
    std::vector<std::vector<double>> plain, shaped; // [KV head][n] before and after pooling; empty where not needed
    long double weight = 1;                         // of an observed allocation
    std::vector<std::vector<int>> orders;           // refreekv: ranks of every list as they are counted,
    int asked = 0;                                  // and how many of them the norms ask for
    int longest() const;
};

// Scores of the entries [KV head][n], averaged over the layer where the policy says so; and pooled over [0, n - w).
std::vector<std::vector<double>> plain_scores(const ReferenceSettings& settings,
                                              const std::vector<const ReferenceList*>& lists);
std::vector<std::vector<double>> pooled_scores(const ReferenceSettings& settings,
                                               std::vector<std::vector<double>> scores);

// What a layer asks of the others (4.13), right after a chunk that filled the window. In a type whose range no
// temperature leaves.
long double cake_preference(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
                            const std::vector<std::vector<double>>& entropies);

// m of every list: [layer][head]. `most`: of one list, whatever it is lent.
std::vector<std::vector<int>> slots_of(const ReferenceSettings& settings, const std::vector<ReferenceLayer>& layers,
                                       int most);

} // namespace palimpsest::tests
