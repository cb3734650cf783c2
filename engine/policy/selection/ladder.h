// The geometry of LaCache's ladder: the size of a tile and which of its tokens each layer keeps (LaCache, section
// 3.2; docs/policies-spec.md, lacache).
#pragma once

#include <cstdint>
#include <vector>

namespace palimpsest::engine {

enum class LadderPattern : uint8_t {
    Stacked, // steps repeat every R + 1 layers: a token's layers are interleaved
    Ladder,  // a token's layers are contiguous
    Reverse, // the ladder from the top layer down
    Even,    // all layers keep the same, evenly spaced tokens
};

// All fields count layers. REQUIRES: 0 <= overlap < span < layers.
struct LadderShape {
    int32_t layers = 0;
    int32_t span = 0;    // layers that hold a token
    int32_t overlap = 0; // layers that consecutive steps share

    int32_t step() const { return span - overlap; }
    int32_t tile() const;    // T
    int32_t kept() const;    // K
    int32_t removed() const; // R = T - K
};

// The offsets of a tile that each layer keeps, ascending: [layers][K]. REQUIRES: removed() >= 1.
std::vector<std::vector<uint32_t>> kept_offsets(const LadderShape& shape, LadderPattern pattern);

} // namespace palimpsest::engine
