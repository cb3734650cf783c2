// How much of a layer ReFreeKV asks for (policies.md, 4.12): what its heads' attention has as a norm, entry by
// entry.
#pragma once

#include <vector>

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

// The ranks of a list in the order in which refreekv counts and keeps them. `score`: what ranking=score goes by.
std::vector<int> refreekv_order(const ReferenceSettings& settings, const std::vector<double>& score,
                                bool by_position);

// The smallest count i with 1 - mean_h |a_h over the first i| / mean_h |a_h over all| <= threshold; all where
// nothing has a norm. `orders`: of the ranks of every list of the layer. Masked sinks count as 0.
int norm_count(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
               const std::vector<std::vector<int>>& orders);

// The same of one norm, of the scores in all lists together.
int norm_count_of_scores(const ReferenceSettings& settings, const std::vector<std::vector<double>>& scores,
                         const std::vector<std::vector<int>>& orders);

} // namespace palimpsest::tests
