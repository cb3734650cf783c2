// Generates maps like those of policies: each list has the sinks, the recent tokens, and others that become rarer
// towards the past. No two lists are equal.
#pragma once

#include <QPalette>
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "engine/cache/retention_map.h"

namespace palimpsest::ui {

struct MapShape {
    int32_t layers = 6, kv_heads = 4;
    uint64_t tokens = 5000;
    uint32_t kept = 400; // tokens in the longest list
    bool ragged = true;  // the other lists are shorter, some empty
    uint32_t seed = 1;
};

inline std::shared_ptr<engine::RetentionMap> synthetic_map(const MapShape& shape)
{
    std::mt19937 random(shape.seed);
    auto map = std::make_shared<engine::RetentionMap>();
    map->layers = shape.layers;
    map->kv_heads = shape.kv_heads;
    map->tokens_seen = shape.tokens;
    for (int32_t list = 0; list < shape.layers * shape.kv_heads; ++list) {
        const uint32_t length = shape.ragged ? shape.kept * static_cast<uint32_t>(list % 5) / 4 : shape.kept;
        std::vector<uint32_t> tokens;
        for (uint32_t i = 0; i < length; ++i) {
            const double u = std::uniform_real_distribution<>(0, 1)(random);
            const double age =
                i < 4 ? 1 - i / static_cast<double>(shape.tokens) : (i % 4 == 0 ? u * 0.01 : std::pow(u, 2));
            tokens.push_back(static_cast<uint32_t>(std::clamp((1 - age) * static_cast<double>(shape.tokens), 0.0,
                                                              static_cast<double>(shape.tokens) - 1)));
        }
        std::sort(tokens.begin(), tokens.end());
        tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
        map->tokens.push_back(std::move(tokens));
    }
    return map;
}

// Counts the pairs of a list of the row and a token in [first, last) that it keeps, by looking at every kept token.
inline uint64_t plain_count(const engine::RetentionMap& map, int32_t layer, int32_t head, uint64_t first,
                            uint64_t last)
{
    uint64_t count = 0;
    for (int32_t h = 0; h < map.kv_heads; ++h)
        if (head < 0 || head == h)
            for (const uint32_t token : map.of(layer, h))
                count += token >= first && token < last;
    return count;
}

inline QPalette palette_of(bool dark)
{
    const QColor window = dark ? QColor(45, 45, 48) : QColor(239, 240, 241);
    const QColor text = dark ? QColor(235, 235, 235) : QColor(35, 38, 41);
    QPalette palette(window);
    for (const auto group : {QPalette::Active, QPalette::Inactive, QPalette::Disabled}) {
        for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
            palette.setColor(group, role, text);
        palette.setColor(group, QPalette::Base, dark ? QColor(30, 30, 32) : QColor(252, 252, 252));
        palette.setColor(group, QPalette::Highlight, QColor(61, 174, 233));
    }
    return palette;
}

} // namespace palimpsest::ui
