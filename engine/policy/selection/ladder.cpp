#include "engine/policy/selection/ladder.h"

#include <algorithm>
#include <numeric>

namespace palimpsest::engine {

namespace {

int32_t ceil_div(int32_t a, int32_t b)
{
    return (a + b - 1) / b;
}

// The offsets of the lowest and highest layers are clamped to the tile, so that every layer keeps K tokens of it.
int32_t ladder_start(const LadderShape& shape, int32_t layer)
{
    return std::clamp(layer / shape.step() - (shape.kept() - 1), 0, shape.removed());
}

int32_t start_of(const LadderShape& shape, LadderPattern pattern, int32_t layer)
{
    switch (pattern) {
    case LadderPattern::Stacked:
        return layer % (shape.removed() + 1);
    case LadderPattern::Ladder:
        return ladder_start(shape, layer);
    case LadderPattern::Reverse:
        return ladder_start(shape, shape.layers - 1 - layer);
    case LadderPattern::Even:
        break; // its offsets are not consecutive, so it has no start
    }
    return 0;
}

} // namespace

int32_t LadderShape::tile() const
{
    return 1 + ceil_div(layers - span, step());
}

int32_t LadderShape::kept() const
{
    return std::min(ceil_div(span, step()), tile());
}

int32_t LadderShape::removed() const
{
    return tile() - kept();
}

std::vector<std::vector<uint32_t>> kept_offsets(const LadderShape& shape, LadderPattern pattern)
{
    const auto kept = static_cast<uint32_t>(shape.kept());
    const auto tile = static_cast<uint32_t>(shape.tile());
    std::vector<std::vector<uint32_t>> offsets;
    for (int32_t layer = 0; layer < shape.layers; ++layer) {
        auto& own = offsets.emplace_back(kept);
        if (pattern == LadderPattern::Even) {
            for (uint32_t k = 0; k < kept; ++k)
                own[k] = k * tile / kept;
        } else {
            std::iota(own.begin(), own.end(), static_cast<uint32_t>(start_of(shape, pattern, layer)));
        }
    }
    return offsets;
}

} // namespace palimpsest::engine
