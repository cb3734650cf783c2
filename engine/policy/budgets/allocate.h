// Splits slots into integer shares by weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

// Returns shares of `total` in proportion to `weights`, none above its limit; slots left by rounding go to the
// largest remainders (ties: the lower index). The shares sum to `total`, unless the limits sum to less; then they
// equal the limits. Weights are finite and >= 0; if the weights of all indices below their limits sum to 0, these
// share equally. Cost: O(n^2) at worst.
std::vector<int64_t> allocate(std::span<const double> weights, int64_t total, std::span<const int64_t> limits);

} // namespace palimpsest::engine
