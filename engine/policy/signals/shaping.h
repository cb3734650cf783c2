// Score shaping: pooling and averaging of scores before entries are compared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

enum class Pooling : uint8_t { None, Average, Max };

struct Shaping {
    Pooling pooling = Pooling::None;
    int32_t kernel = 1;      // odd
    bool layer_mean = false; // scores are averaged over the heads of a layer, rank by rank
};

// Centred pooling with stride 1 and equal length. Values outside count as 0 for Average, whose divisor is always
// the kernel size, and are ignored for Max. REQUIRES: `from` and `to` do not overlap. Cost: entries times kernel.
void pool(Pooling kind, int32_t kernel, std::span<const double> from, std::span<double> to);

} // namespace palimpsest::engine
