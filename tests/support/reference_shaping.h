// The building blocks of policies.md, section 3, word for word: slow and obvious.
#pragma once

#include <string>
#include <vector>

namespace palimpsest::tests {

// The ranks of the k largest (3.2): ties keep the lower rank; ascending. All of them if there are fewer.
std::vector<int> top_k(const std::vector<double>& score, int k);

// Ranks by score descending, ties: the lower rank first.
std::vector<int> best_first(const std::vector<double>& score);

// Centred pooling over all of `score` (3.3): kind is avg, max or none. REQUIRES: an odd kernel.
std::vector<double> pool(const std::vector<double>& score, int kernel, const std::string& kind);

// Integer split of `total` slots (3.4).
std::vector<int> allocate(const std::vector<double>& weights, int total, const std::vector<int>& limits);

// Relative slots of the layers of a static pyramid (4.7): linear, geometric or exponential.
std::vector<double> pyramid_profile(const std::string& allocation, int layers, double beta);

} // namespace palimpsest::tests
