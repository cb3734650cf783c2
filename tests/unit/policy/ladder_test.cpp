// The geometry of lacache's tiles (docs/policies-spec.md, lacache).
#include <algorithm>

#include "engine/policy/selection/ladder.h"
#include "tests/support/catch.h"

using namespace palimpsest::engine;
using Offsets = std::vector<std::vector<uint32_t>>;

TEST_CASE("ladder: tiles of the text")
{
    struct Case {
        LadderShape shape;
        int tile, kept;
    };
    const std::vector<Case> cases = {{{.layers = 32, .span = 16, .overlap = 0}, 2, 1},
                                     {{.layers = 32, .span = 8, .overlap = 4}, 7, 2},
                                     {{.layers = 32, .span = 8, .overlap = 0}, 4, 1},
                                     {{.layers = 8, .span = 4, .overlap = 2}, 3, 2},
                                     {{.layers = 8, .span = 4, .overlap = 3}, 5, 4}};
    for (const Case& c : cases) {
        CAPTURE(c.shape.layers, c.shape.span, c.shape.overlap);
        CHECK(c.shape.tile() == c.tile);
        CHECK(c.shape.kept() == c.kept);
        CHECK(c.shape.removed() == c.tile - c.kept);
    }
}

TEST_CASE("ladder: offsets of the patterns")
{
    const LadderShape two{.layers = 8, .span = 4, .overlap = 0};
    CHECK(kept_offsets(two, LadderPattern::Stacked) == Offsets{{0}, {1}, {0}, {1}, {0}, {1}, {0}, {1}});
    CHECK(kept_offsets(two, LadderPattern::Ladder) == Offsets{{0}, {0}, {0}, {0}, {1}, {1}, {1}, {1}});
    CHECK(kept_offsets(two, LadderPattern::Reverse) == Offsets{{1}, {1}, {1}, {1}, {0}, {0}, {0}, {0}});
    CHECK(kept_offsets(two, LadderPattern::Even) == Offsets(8, {0}));

    const LadderShape three{.layers = 8, .span = 4, .overlap = 2};
    CHECK(kept_offsets(three, LadderPattern::Stacked) ==
          Offsets{{0, 1}, {1, 2}, {0, 1}, {1, 2}, {0, 1}, {1, 2}, {0, 1}, {1, 2}});
    CHECK(kept_offsets(three, LadderPattern::Ladder) ==
          Offsets{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}, {1, 2}});
    CHECK(kept_offsets({.layers = 32, .span = 8, .overlap = 4}, LadderPattern::Even) == Offsets(32, {0, 3}));
}

TEST_CASE("ladder: with overlap 2 of 4 in 8 layers the tokens of a tile live in 4, 8 and 4 layers")
{
    std::vector<int> layers(3, 0);
    for (const auto& own : kept_offsets({.layers = 8, .span = 4, .overlap = 2}, LadderPattern::Stacked)) {
        for (const uint32_t offset : own)
            ++layers[offset];
    }
    CHECK(layers == std::vector<int>{4, 8, 4});
}

TEST_CASE("ladder: where the step divides the span, token j lives in layers [j step, j step + S)")
{
    for (int layers = 2; layers <= 24; ++layers) {
        for (int span = 1; span < layers; ++span) {
            for (int overlap = 0; overlap < span; ++overlap) {
                const LadderShape shape{.layers = layers, .span = span, .overlap = overlap};
                if (span % shape.step() != 0 || shape.removed() < 1) continue;
                const Offsets kept = kept_offsets(shape, LadderPattern::Ladder);
                bool holds = true;
                for (int token = 0; token < shape.tile(); ++token) {
                    const int end = std::min(layers, token * shape.step() + span);
                    for (int layer = token * shape.step(); layer < end; ++layer) {
                        const auto& own = kept[static_cast<size_t>(layer)];
                        holds = holds && std::count(own.begin(), own.end(), static_cast<uint32_t>(token)) == 1;
                    }
                }
                CAPTURE(layers, span, overlap);
                CHECK(holds);
            }
        }
    }
}

TEST_CASE("ladder: every layer keeps K offsets inside the tile")
{
    for (int layers = 2; layers <= 16; ++layers) {
        for (int span = 1; span < layers; ++span) {
            for (int overlap = 0; overlap < span; ++overlap) {
                const LadderShape shape{.layers = layers, .span = span, .overlap = overlap};
                if (shape.removed() < 1) continue;
                for (const auto pattern :
                     {LadderPattern::Stacked, LadderPattern::Ladder, LadderPattern::Reverse, LadderPattern::Even}) {
                    for (const auto& own : kept_offsets(shape, pattern)) {
                        const bool ascending =
                            std::adjacent_find(own.begin(), own.end(), std::greater_equal<>()) == own.end();
                        const bool good = own.size() == static_cast<size_t>(shape.kept()) && ascending &&
                                          own.back() < static_cast<uint32_t>(shape.tile());
                        if (!good) FAIL("L " << layers << " S " << span << " O " << overlap);
                    }
                }
            }
        }
    }
}
