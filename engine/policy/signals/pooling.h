// Pooling: each score of a list is replaced by the mean or the maximum of its neighbourhood.
#pragma once

#include <cstdint>
#include <span>

#include "engine/policy/signals/shaping.h"

namespace palimpsest::engine {

// Pools with a centred kernel and stride 1, so that `to` is as long as `from`. Beyond the ends of the list, Average
// counts 0 (its divisor is always `kernel`) and Max ignores the places. REQUIRES: `from` and `to` do not overlap.
// Cost: entries times kernel.
void pool(Pooling kind, int32_t kernel, std::span<const double> from, std::span<double> to);

} // namespace palimpsest::engine
