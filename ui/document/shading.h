// How much of a token is still kept, and the shade that shows it.
#pragma once

#include <QColor>
#include <QPalette>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/cache/retention_map.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// Returns for each token of `range` the number of lists that keep it. Cost: O(lists * log(kept tokens) + kept
// tokens in the range).
std::vector<uint16_t> kept_counts(const engine::RetentionMap& map, StreamRange range);

// One list that keeps a token.
struct Holder {
    int32_t layer = 0, head = 0;
    uint32_t rank = 0, kept = 0; // the token's rank among `kept` tokens
};
std::vector<Holder> holders(const engine::RetentionMap& map, uint64_t token);

// Returns which share of the tokens of `range` is kept, averaged over all lists; 0 for an empty range.
double held_share(const engine::RetentionMap& map, StreamRange range);

// Background colour for the share of lists that keep a token, 0 to 1. Any colour is allowed: the text colour
// adapts.
using ShadeColors = std::function<QColor(double share)>;

// The base colour at 0, then the palette's highlight colour, stronger as the share grows.
ShadeColors default_shades(const QPalette& palette);

// A background and a text colour that is readable on it (contrast of at least 4.5).
struct Shade {
    QColor background, ink;
};

class ShadeTable {
public:
    ShadeTable() = default;
    ShadeTable(const ShadeColors& colors, const QPalette& palette);
    const Shade& of(double share) const;

private:
    static constexpr int steps = 128;
    std::array<Shade, steps + 1> shades_;
};

} // namespace palimpsest::ui
