// Pooling: each score of a list is replaced by the mean or the maximum of its neighbourhood.
#pragma once

#include <cstdint>
#include <span>

#include "engine/policy/signals/shaping.h"

namespace palimpsest::engine {

// Centred pooling with stride 1 and equal length. Values outside count as 0 for Average, whose divisor is always
// the kernel size, and are ignored for Max. REQUIRES: `from` and `to` do not overlap. Cost: entries times kernel.
void pool(Pooling kind, int32_t kernel, std::span<const double> from, std::span<double> to);

} // namespace palimpsest::engine
