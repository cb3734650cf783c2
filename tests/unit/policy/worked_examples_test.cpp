// The tables of docs/policies-spec.md for treekv and lacache, token for token.
#include <array>

#include "tests/support/catch.h"
#include "tests/unit/policy/policy_stream.h"

using namespace palimpsest::tests;
using Tokens = std::vector<uint32_t>;

namespace {

constexpr std::array<double, 17> tree_scores = {.10, .90, .30, .40, .20, .50, .15, .60, .25,
                                                .35, .70, .05, .45, .22, .55, .32, .65};

void tree_score(int, int, int, uint32_t stream, double& sum, double& count)
{
    sum = tree_scores.at(stream);
    count = 1;
}

struct TreeStep {
    int seen;
    uint32_t idx;
    uint32_t evicted;
    Tokens cache;
};

const std::vector<TreeStep> tree_steps = {
    {5, 0, 0, {1, 2, 3, 4}},      {6, 1, 2, {1, 3, 4, 5}},      {7, 2, 4, {1, 3, 5, 6}},
    {8, 3, 6, {1, 3, 5, 7}},      {9, 0, 3, {1, 5, 7, 8}},      {10, 1, 5, {1, 7, 8, 9}},
    {11, 2, 8, {1, 7, 9, 10}},    {12, 3, 11, {1, 7, 9, 10}},   {13, 0, 7, {1, 9, 10, 12}},
    {14, 1, 9, {1, 10, 12, 13}},  {15, 2, 13, {1, 10, 12, 14}}, {16, 3, 15, {1, 10, 12, 14}},
    {17, 0, 10, {1, 12, 14, 16}},
};

struct LadderRow {
    int seen;
    uint32_t cursor;
    Tokens even, odd; // ranks 0-7 of the even and the odd layers
};

const std::vector<LadderRow> two_to_one = {
    {16, 4, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}},
    {17, 5, {0, 1, 2, 3, 4, 6, 7, 8}, {0, 1, 2, 3, 5, 6, 7, 8}},
    {18, 6, {0, 1, 2, 3, 4, 6, 8, 9}, {0, 1, 2, 3, 5, 7, 8, 9}},
    {20, 8, {0, 1, 2, 3, 4, 6, 8, 10}, {0, 1, 2, 3, 5, 7, 9, 11}},
    {21, 5, {0, 1, 2, 3, 4, 8, 10, 12}, {0, 1, 2, 3, 7, 9, 11, 12}},
    {24, 8, {0, 1, 2, 3, 4, 8, 12, 14}, {0, 1, 2, 3, 7, 11, 13, 15}},
    {32, 8, {0, 1, 2, 3, 4, 16, 20, 22}, {0, 1, 2, 3, 15, 19, 21, 23}},
};

const std::vector<LadderRow> three_to_two = {
    {17, 6, {0, 1, 2, 3, 4, 5, 7, 8}, {0, 1, 2, 3, 5, 6, 7, 8}},
    {18, 8, {0, 1, 2, 3, 4, 5, 7, 8}, {0, 1, 2, 3, 5, 6, 8, 9}},
    {19, 6, {0, 1, 2, 3, 4, 5, 8, 10}, {0, 1, 2, 3, 6, 8, 9, 10}},
    {24, 8, {0, 1, 2, 3, 4, 5, 12, 14}, {0, 1, 2, 3, 10, 12, 14, 15}},
    {32, 8, {0, 1, 2, 3, 4, 5, 20, 22}, {0, 1, 2, 3, 18, 20, 22, 23}},
};

void check_ladder(const std::string& spec, const std::vector<LadderRow>& rows)
{
    PolicyStream stream(spec, {.layers = 8, .heads = 2, .budget = 16});
    int seen = 0;
    for (const LadderRow& row : rows) {
        stream.feed_all(row.seen - seen, 1);
        seen = row.seen;
        CAPTURE(spec, seen);
        for (int layer = 0; layer < 8; ++layer) {
            Tokens expected = layer % 2 == 0 ? row.even : row.odd;
            for (int t = seen - 8; t < seen; ++t)
                expected.push_back(static_cast<uint32_t>(t));
            CAPTURE(layer);
            CHECK(stream.kept(layer, 0) == expected);
            CHECK(stream.kept(layer, 1) == expected);
            CHECK(4 + stream.state_words().at(static_cast<size_t>(layer)) == row.cursor);
        }
    }
}

} // namespace

TEST_CASE("treekv: the worked example, step by step")
{
    PolicyStream stream("treekv:sinks=0,recent=0", {.budget = 4}, tree_score);
    stream.feed_all(4, 1);
    CHECK(stream.kept(0, 0) == Tokens{0, 1, 2, 3});
    for (const TreeStep& step : tree_steps) {
        CAPTURE(step.seen);
        // The region has four entries; cursor 4, behind the last one, means the same as cursor 0.
        CHECK(stream.state_words().at(0) % 4 == step.idx);
        stream.feed(1);
        CHECK(stream.evicted(0, 0) == Tokens{step.evicted});
        CHECK(stream.kept(0, 0) == step.cache);
    }
}

TEST_CASE("treekv: the left-token ablation of the worked example")
{
    PolicyStream stream("treekv:sinks=0,recent=0,rule=left", {.budget = 4});
    stream.feed_all(17, 1);
    CHECK(stream.kept(0, 0) == Tokens{0, 12, 14, 16});
    CHECK_FALSE(stream.policy().signals().any());
}

TEST_CASE("treekv: of two neighbours with equal scores the left one is evicted")
{
    PolicyStream stream("treekv:sinks=1,recent=1", {.budget = 4}, constant_scores(1, 1));
    stream.feed_all(5, 1);
    CHECK(stream.evicted(0, 0) == Tokens{1});
    CHECK(stream.kept(0, 0) == Tokens{0, 2, 3, 4});
}

TEST_CASE("lacache: the worked example of tiles of two")
{
    check_ladder("lacache:span=4", two_to_one);
}

TEST_CASE("lacache: the worked example of tiles of three")
{
    check_ladder("lacache:span=4,overlap=2", three_to_two);
}

TEST_CASE("lacache: pattern=old keeps the first and the last tokens")
{
    PolicyStream stream("lacache:pattern=old,recent=2", {.layers = 2, .heads = 1, .budget = 6});
    stream.feed_all(20, 3);
    CHECK(stream.kept(1, 0) == Tokens{0, 1, 2, 3, 18, 19});
}

TEST_CASE("streaming: sinks and the newest tokens are kept")
{
    PolicyStream stream("streaming:sinks=2", {.layers = 1, .heads = 2, .budget = 5});
    stream.feed(5);
    CHECK(stream.kept(0, 1) == Tokens{0, 1, 2, 3, 4});
    stream.feed(4);
    CHECK(stream.kept(0, 0) == Tokens{0, 1, 6, 7, 8});
    CHECK(stream.kept(0, 1) == Tokens{0, 1, 6, 7, 8});
}

TEST_CASE("full: no token is evicted")
{
    PolicyStream stream("full", {.layers = 1, .heads = 1, .budget = 5});
    stream.feed_all(50, 8);
    CHECK(stream.kept(0, 0).size() == 50);
    CHECK_FALSE(stream.policy().bounded());
    CHECK(stream.policy().list_budget(0, 0) == 5);
}
