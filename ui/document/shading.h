// How much of a token is still held, and the shade that says so.
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

// How many (layer, KV head) lists hold each token of `range`. O(lists * log kept + held in the range).
std::vector<uint16_t> held_counts(const engine::RetentionMap& map, StreamRange range);

// One list that holds a token.
struct Holder {
    int32_t layer = 0, head = 0;
    uint32_t rank = 0, kept = 0; // the token is the rank-th of so many, from 0
};
std::vector<Holder> holders(const engine::RetentionMap& map, uint64_t token);

// Of the (layer, KV head, token) triples of `range`; 0 for an empty one.
double held_share(const engine::RetentionMap& map, StreamRange range);

// The colour of a share of lists, 0 to 1: behind text, so it may be any.
using ShadeColors = std::function<QColor(double share)>;

// Nothing at 0, then the palette's highlight, stronger with the share.
ShadeColors default_shades(const QPalette& palette);

// A background and what is readable on it (contrast of at least 4.5).
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
