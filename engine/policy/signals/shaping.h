// Score shaping: whether scores are pooled over neighbours or averaged over heads before entries are compared.
#pragma once

#include <cstdint>

namespace palimpsest::engine {

enum class Pooling : uint8_t { None, Average, Max };

struct Shaping {
    Pooling pooling = Pooling::None;
    int32_t kernel = 1;      // odd
    bool layer_mean = false; // scores are averaged over the heads of a layer, rank by rank
};

} // namespace palimpsest::engine
