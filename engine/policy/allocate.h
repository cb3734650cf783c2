// The integer split of slots by weights (policies.md, 3.4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

// Shares of `total` in proportion to `weights`, none above its limit; leftovers of the division go to the largest
// remainders, ties to the lower index. The shares sum to `total`, or are the limits if those sum to no more.
// Weights are finite and >= 0; if those of all who are below their limits sum to 0, they share equally.
// Cost: O(n^2) at worst.
std::vector<int64_t> allocate(std::span<const double> weights, int64_t total, std::span<const int64_t> limits);

} // namespace palimpsest::engine
