// Number of entries that a layer needs to reach the attention norm (docs/policies-spec.md, refreekv).
#pragma once

#include <vector>

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

// Ranks of a list in the order in which refreekv counts and keeps them: by position (ranking=position: sinks, then
// from newest to oldest) or by `score` (ranking=score: sinks and recent tokens, then from best to worst).
std::vector<int> refreekv_order(const ReferenceSettings& settings, const std::vector<double>& score,
                                bool by_position);

// The smallest i with 1 - mean_h |a_h over the first i| / mean_h |a_h over all| <= threshold, where a_h is the
// attention of query head h; all entries if every norm is 0. `orders`: refreekv_order() of every list of the layer.
// Masked sinks count as 0.
int norm_count(const ReferenceSettings& settings, const std::vector<const ReferenceList*>& lists,
               const std::vector<std::vector<int>>& orders);

// Like norm_count, with one norm over the scores of all lists together.
int norm_count_of_scores(const ReferenceSettings& settings, const std::vector<std::vector<double>>& scores,
                         const std::vector<std::vector<int>>& orders);

} // namespace palimpsest::tests
