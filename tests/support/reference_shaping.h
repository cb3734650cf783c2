// Building blocks that several policies of docs/policies-spec.md share: selection, pooling, splitting of slots.
#pragma once

#include <string>
#include <vector>

namespace palimpsest::tests {

// Ranks of the k largest scores, ascending; ties keep the lower rank. All ranks if there are at most k.
std::vector<int> top_k(const std::vector<double>& score, int k);

// Ranks by descending score; ties: lower rank first.
std::vector<int> best_first(const std::vector<double>& score);

// Centered pooling over all of `score`: kind is avg, max or none. REQUIRES: an odd kernel.
std::vector<double> pool(const std::vector<double>& score, int kernel, const std::string& kind);

// Splits `total` slots into integers in proportion to `weights`, within `limits`.
std::vector<int> allocate(const std::vector<double>& weights, int total, const std::vector<int>& limits);

// Relative slots per layer of a static pyramid (docs/policies-spec.md, pyramidkv): linear, geometric or
// exponential.
std::vector<double> pyramid_profile(const std::string& allocation, int layers, double beta);

} // namespace palimpsest::tests
