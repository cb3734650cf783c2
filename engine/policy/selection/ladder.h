// The geometry of LaCache's ladder: the size of a tile and which of its tokens each layer keeps (LaCache, section
// 3.2; docs/policies-spec.md, lacache).
#pragma once

#include <cstdint>
#include <vector>

namespace palimpsest::engine {

enum class LadderPattern : uint8_t {
    Stacked, // offsets repeat every R + 1 layers, so the layers that keep a token are spread over the model
    Ladder,  // the layers that keep a token are neighbours
    Reverse, // as Ladder, with the layers counted from the top down
    Even,    // all layers keep the same tokens, evenly spaced
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
