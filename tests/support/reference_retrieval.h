// Ranks that a decoded token attends to under the retrieval policies (docs/policies-spec.md: quest, twilight).
#pragma once

#include <vector>

#include "tests/support/reference_settings.h"

namespace palimpsest::tests {

using ReferenceVectors = std::vector<std::vector<double>>;

// Returns the ranks that each query head of a group attends to, ascending: [group][...]. `queries` [group][d] and
// `keys` [n][d] are rotated; the last key is the newest token's. Returns all ranks if the layer is skipped; selects
// no pages if the list is within the budget. Lowers `margin` to the distance of the closest decision, relative to
// the largest bound or the total mass: an implementation whose rounding error is larger than `margin` may decide
// differently.
std::vector<std::vector<int>> retrieved(const ReferenceSettings& settings, int layer,
                                        const ReferenceVectors& queries, const ReferenceVectors& keys,
                                        double& margin);

// The smallest set of `ranks` whose largest logits reach a softmax mass of p.
std::vector<int> smallest_mass(const std::vector<int>& ranks, const std::vector<double>& logits, double p,
                               double& margin);

} // namespace palimpsest::tests
