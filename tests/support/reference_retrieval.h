// Which ranks a decoded token attends to where nothing ever leaves (policies.md, 4.15 and 4.16).
#pragma once

#include <vector>

#include "tests/support/reference_settings.h"

namespace palimpsest::tests {

using ReferenceVectors = std::vector<std::vector<double>>;

// Ranks that every query head of a group attends to, ascending: [group][...]. `queries` [group][d] and `keys`
// [n][d] are rotated; the newest token's key is the last. Everything if the layer is skipped, or if the list is not
// longer than the budget and nothing but pages counts.
// `margin` is lowered to how close the closest choice was, relative to the largest bound or to the whole mass: below
// the rounding of whoever is compared with this, he may choose otherwise.
std::vector<std::vector<int>> retrieved(const ReferenceSettings& settings, int layer,
                                        const ReferenceVectors& queries, const ReferenceVectors& keys,
                                        double& margin);

// The smallest set of `ranks` with the largest logits that holds p of their softmax mass.
std::vector<int> smallest_mass(const std::vector<int>& ranks, const std::vector<double>& logits, double p,
                               double& margin);

} // namespace palimpsest::tests
