// Axis C: what is made of the scores before entries are compared (policies.md, 3.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

enum class Pooling : uint8_t { None, Average, Max };

struct Shaping {
    Pooling pooling = Pooling::None;
    int32_t kernel = 1;      // odd
    bool layer_mean = false; // all heads of a layer get the mean of their scores, rank by rank
};

// Centred, stride 1, the same length. Outside counts as 0 for Average, whose divisor stays the kernel, and not at
// all for Max. `from` and `to` do not overlap. Cost: entries times kernel.
void pool(Pooling kind, int32_t kernel, std::span<const double> from, std::span<double> to);

} // namespace palimpsest::engine
