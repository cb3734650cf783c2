// The worked examples of docs/policies-spec.md and small cases computed by hand, checked on the engine's policies
// and on the slow reference.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/support/catch.h"
#include "tests/unit/policy/slow_stream.h"

using namespace palimpsest::tests;
using Tokens = std::vector<uint32_t>;
using Sizes = std::vector<size_t>;

namespace {

// One score per token, the same in every layer, head and chunk.
ScoreEntry table(const std::vector<double>& scores)
{
    return [=](int, int, int, uint32_t stream, double& sum, double& count) {
        sum = scores.at(stream);
        count = 1;
    };
}

ScoreEntry table_of_heads(const std::vector<std::vector<double>>& scores)
{
    return [=](int, int head, int, uint32_t stream, double& sum, double& count) {
        sum = scores.at(static_cast<size_t>(head)).at(stream);
        count = 1;
    };
}

ScoreEntry table_of_layers(const std::vector<std::vector<double>>& scores)
{
    return [=](int layer, int, int, uint32_t stream, double& sum, double& count) {
        sum = scores.at(static_cast<size_t>(layer)).at(stream);
        count = 1;
    };
}

// Feeds one chunk with these scores and returns the tokens kept in the only list.
template<class Stream>
Tokens kept_of(const std::string& spec, int budget, const std::vector<double>& scores)
{
    SyntheticSignals signals{.score = table(scores)};
    signals.given = [&](int, int, int, uint32_t entry) { // for policies that use per-head moments
        return SyntheticSignals::Received{scores[entry], scores[entry]};
    };
    Stream stream(spec, {.budget = budget}, signals);
    stream.feed(static_cast<int>(scores.size()));
    return stream.kept(0, 0);
}

template<class Stream>
Sizes sizes_of_layers(const std::string& spec, const StreamShape& shape, int tokens)
{
    Stream stream(spec, shape, SyntheticSignals{.score = growing_scores(1, 1000)});
    stream.feed(tokens);
    Sizes sizes;
    for (int layer = 0; layer < shape.layers; ++layer)
        sizes.push_back(stream.kept(layer, 0).size());
    return sizes;
}

const std::vector<double> refree_row = {.5, .1, .05, .05, .02, .03, .05, .2};

} // namespace

TEMPLATE_TEST_CASE("examples: treekv's table and its left ablation", "", PolicyStream, SlowStream)
{
    const std::vector<double> scores = {.10, .90, .30, .40, .20, .50, .15, .60, .25,
                                        .35, .70, .05, .45, .22, .55, .32, .65};
    const std::vector<Tokens> caches = {{1, 2, 3, 4},   {1, 3, 4, 5},    {1, 3, 5, 6},    {1, 3, 5, 7},
                                        {1, 5, 7, 8},   {1, 7, 8, 9},    {1, 7, 9, 10},   {1, 7, 9, 10},
                                        {1, 9, 10, 12}, {1, 10, 12, 13}, {1, 10, 12, 14}, {1, 10, 12, 14},
                                        {1, 12, 14, 16}};
    TestType stream("treekv:sinks=0,recent=0", {.budget = 4}, table(scores));
    stream.feed(4);
    for (const Tokens& cache : caches) {
        stream.feed(1);
        CHECK(stream.kept(0, 0) == cache);
    }
    TestType left("treekv:sinks=0,recent=0,rule=left", {.budget = 4});
    left.feed_all(17, 1);
    CHECK(left.kept(0, 0) == Tokens{0, 12, 14, 16});
}

TEMPLATE_TEST_CASE("examples: lacache's tables", "", PolicyStream, SlowStream)
{
    struct Row {
        int seen;
        Tokens even, odd; // ranks 0-7
    };
    const std::vector<Row> two_to_one = {
        {16, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {17, {0, 1, 2, 3, 4, 6, 7, 8}, {0, 1, 2, 3, 5, 6, 7, 8}},
        {18, {0, 1, 2, 3, 4, 6, 8, 9}, {0, 1, 2, 3, 5, 7, 8, 9}},
        {20, {0, 1, 2, 3, 4, 6, 8, 10}, {0, 1, 2, 3, 5, 7, 9, 11}},
        {21, {0, 1, 2, 3, 4, 8, 10, 12}, {0, 1, 2, 3, 7, 9, 11, 12}},
        {24, {0, 1, 2, 3, 4, 8, 12, 14}, {0, 1, 2, 3, 7, 11, 13, 15}},
        {32, {0, 1, 2, 3, 4, 16, 20, 22}, {0, 1, 2, 3, 15, 19, 21, 23}},
    };
    const std::vector<Row> three_to_two = {
        {17, {0, 1, 2, 3, 4, 5, 7, 8}, {0, 1, 2, 3, 5, 6, 7, 8}},
        {18, {0, 1, 2, 3, 4, 5, 7, 8}, {0, 1, 2, 3, 5, 6, 8, 9}},
        {19, {0, 1, 2, 3, 4, 5, 8, 10}, {0, 1, 2, 3, 6, 8, 9, 10}},
        {24, {0, 1, 2, 3, 4, 5, 12, 14}, {0, 1, 2, 3, 10, 12, 14, 15}},
        {32, {0, 1, 2, 3, 4, 5, 20, 22}, {0, 1, 2, 3, 18, 20, 22, 23}},
    };
    const auto check = [](const std::string& spec, const std::vector<Row>& rows) {
        TestType stream(spec, {.layers = 8, .heads = 1, .budget = 16});
        int seen = 0;
        for (const Row& row : rows) {
            stream.feed_all(row.seen - seen, 1);
            seen = row.seen;
            for (int layer = 0; layer < 8; ++layer) {
                Tokens expected = layer % 2 == 0 ? row.even : row.odd;
                for (int t = seen - 8; t < seen; ++t)
                    expected.push_back(static_cast<uint32_t>(t));
                CAPTURE(spec, seen, layer);
                CHECK(stream.kept(layer, 0) == expected);
            }
        }
    };
    check("lacache:span=4", two_to_one);
    check("lacache:span=4,overlap=2", three_to_two);
}

TEMPLATE_TEST_CASE("examples: lacache with survivors=score keeps the best entry of each tile", "", PolicyStream,
                   SlowStream)
{
    // Tiles of two from rank 4 on, eight recent tokens. The 17th token evicts the worse of 4 and 5, in every layer;
    // the 18th evicts the later of 6 and 7, which tie.
    std::vector<double> scores(18, .1);
    scores[5] = .9;
    TestType stream("lacache:span=4,survivors=score", {.layers = 8, .heads = 1, .budget = 16}, table(scores));
    stream.feed(17);
    for (int layer = 0; layer < 8; ++layer)
        CHECK(stream.kept(layer, 0) == Tokens{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
    stream.feed(1);
    for (int layer = 0; layer < 8; ++layer)
        CHECK(stream.kept(layer, 0) == Tokens{0, 1, 2, 3, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
}

TEMPLATE_TEST_CASE("examples: streaming keeps sinks and the newest", "", PolicyStream, SlowStream)
{
    TestType stream("streaming:sinks=2", {.layers = 1, .heads = 1, .budget = 5});
    stream.feed(9);
    CHECK(stream.kept(0, 0) == Tokens{0, 1, 6, 7, 8});
}

TEMPLATE_TEST_CASE("examples: h2o keeps heavy hitters before the recent half", "", PolicyStream, SlowStream)
{
    // A budget of 4, including two recent tokens. Five tokens: the best two of 0 1 2 are 1 2; then the best two of
    // 1 2 3 are 1 3.
    TestType stream("h2o", {.budget = 4}, table({.1, .9, .3, .4, .2, .5}));
    stream.feed(5);
    CHECK(stream.kept(0, 0) == Tokens{1, 2, 3, 4});
    stream.feed(1);
    CHECK(stream.kept(0, 0) == Tokens{1, 3, 4, 5});

    // Sums, not means: a sum of .6 over three queries is kept, a sum of .5 over one query is evicted.
    const ScoreEntry aged = [](int, int, int, uint32_t token, double& sum, double& count) {
        sum = token == 0 ? .6 : .5;
        count = token == 0 ? 3 : 1;
    };
    TestType sums("h2o:recent=1", {.budget = 2}, aged);
    sums.feed(3);
    CHECK(sums.kept(0, 0) == Tokens{0, 2});
}

TEMPLATE_TEST_CASE("examples: h2o with score=mean does not favour old tokens", "", PolicyStream, SlowStream)
{
    // The sums .6 .5 .2 belong to 3, 1 and 1 queries: the means are .2 .5 .2.
    const ScoreEntry aged = [](int, int, int, uint32_t token, double& sum, double& count) {
        sum = token == 0 ? .6 : token == 1 ? .5 : .2;
        count = token == 0 ? 3 : 1;
    };
    TestType sums("h2o:recent=1", {.budget = 2}, aged), means("h2o:recent=1,score=mean", {.budget = 2}, aged);
    sums.feed(3);
    means.feed(3);
    CHECK(sums.kept(0, 0) == Tokens{0, 2});
    CHECK(means.kept(0, 0) == Tokens{1, 2});
}

TEMPLATE_TEST_CASE("examples: knorm keeps the shortest keys", "", PolicyStream, SlowStream)
{
    const std::vector<double> norms = {4, 2, 7, 2, 9, 5, 8};
    CHECK(kept_of<TestType>("knorm", 3, norms) == Tokens{0, 1, 3});
    CHECK(kept_of<TestType>("knorm", 1, norms) == Tokens{1}); // of two norms of 2 the older
    CHECK(kept_of<TestType>("knorm:sinks=1,recent=1", 3, norms) == Tokens{0, 1, 6});
}

TEMPLATE_TEST_CASE("examples: keydiff keeps the keys that are least like their mean", "", PolicyStream, SlowStream)
{
    // Mean cosines of the keys (1 0), (3 0), (0 2), (1 1), (0 -1), whose directions have the mean (.541 .141).
    const std::vector<double> similar = {.541, .541, .141, .483, -.141};
    CHECK(kept_of<TestType>("keydiff", 3, similar) == Tokens{2, 3, 4});
    CHECK(kept_of<TestType>("keydiff", 4, similar) == Tokens{0, 2, 3, 4}); // of equal ones the older
    CHECK(kept_of<TestType>("keydiff:sinks=1,recent=1", 3, similar) == Tokens{0, 2, 4});
}

TEMPLATE_TEST_CASE("examples: random keeps the first of a random order", "", PolicyStream, SlowStream)
{
    const StreamShape shape{.layers = 2, .heads = 2, .budget = 4};
    TestType stream("random:sinks=1,recent=1", shape);
    stream.feed(7);
    stream.feed(3);
    CHECK(stream.all_kept() == std::vector<Tokens>{{0, 1, 4, 9}, {0, 1, 2, 9}, {0, 1, 6, 9}, {0, 1, 6, 9}});
    TestType other("random:sinks=1,recent=1,seed=1", shape);
    other.feed(10);
    CHECK(other.all_kept() == std::vector<Tokens>{{0, 1, 3, 9}, {0, 1, 5, 9}, {0, 1, 8, 9}, {0, 6, 7, 9}});
}

TEMPLATE_TEST_CASE("examples: scissorhands keeps the entries that had low attention least often", "", PolicyStream,
                   SlowStream)
{
    const std::vector<double> low = {3, 0, 1, 1, 1, 0};
    CHECK(kept_of<TestType>("scissorhands:recent=1", 4, low) == Tokens{1, 2, 3, 5});       // ties keep the older
    CHECK(kept_of<TestType>("scissorhands:recent=1,drop=0.5", 4, low) == Tokens{1, 5});    // 3 slots less 2
    CHECK(kept_of<TestType>("scissorhands:recent=1,drop=0.4", 4, low) == Tokens{1, 2, 5}); // floor(1.6) = 1
}

TEMPLATE_TEST_CASE("examples: tova compares means over the layer, and may evict the newest token", "", PolicyStream,
                   SlowStream)
{
    // Means .3 .1 .35 .2.
    TestType stream("tova", {.heads = 2, .budget = 2}, table_of_heads({{.5, .1, .2, .2}, {.1, .1, .5, .2}}));
    stream.feed(4);
    CHECK(stream.kept(0, 0) == Tokens{0, 2});
    CHECK(stream.kept(0, 1) == Tokens{0, 2});
    TestType protects("tova:recent=1", {.heads = 2, .budget = 2},
                      table_of_heads({{.5, .1, .2, .2}, {.1, .1, .5, .2}}));
    protects.feed(4);
    CHECK(protects.kept(0, 1) == Tokens{2, 3});
}

TEMPLATE_TEST_CASE("examples: snapkv pools before it chooses", "", PolicyStream, SlowStream)
{
    // Averages of three over ranks 0-5: .3 .3 .3 .1 .2 .2; the newest token is the window.
    const std::vector<double> scores = {0, .9, 0, 0, .3, .3, .1};
    CHECK(kept_of<TestType>("snapkv:window=1,kernel=3", 4, scores) == Tokens{0, 1, 2, 6});
    CHECK(kept_of<TestType>("snapkv:window=1,pooling=none", 4, scores) == Tokens{1, 4, 5, 6});
    // Maxima of five: .9 .9 .9 .9 .3 .3. One sink leaves two slots, for which three candidates tie.
    CHECK(kept_of<TestType>("snapkv:window=1,kernel=5,pooling=max,sinks=1", 4, scores) == Tokens{0, 1, 2, 6});
    // Averages count zeros outside the row: the averages are .2 .3 .3 .2, so the inner entries win.
    CHECK(kept_of<TestType>("snapkv:window=1,kernel=3", 3, {.3, .3, .3, .3, .1}) == Tokens{1, 2, 4});
}

TEMPLATE_TEST_CASE("examples: pyramidkv's table", "", PolicyStream, SlowStream)
{
    const StreamShape shape{.layers = 8, .heads = 1, .budget = 128}; // 8 recent, base 120
    const auto sizes = [&](const std::string& spec) { return sizes_of_layers<TestType>(spec, shape, 600); };
    const Sizes linear = {242, 209, 177, 144, 112, 79, 47, 14};
    CHECK(sizes("pyramidkv") == linear);
    CHECK(sizes("pyramidkv:allocation=geometric") == Sizes{405, 243, 148, 91, 57, 37, 25, 18});
    CHECK(sizes("pyramidkv:allocation=exponential") == Sizes{342, 228, 154, 105, 73, 53, 39, 30});
    CHECK(sizes("pyramidkv:beta=1") == Sizes(8, 128));
    // Other policies with budget=pyramid get the same sizes.
    CHECK(sizes("treekv:budget=pyramid,sinks=4,recent=4") == linear);
    CHECK(sizes("treekv-log:budget=pyramid,sinks=4,recent=4") == linear);
    CHECK(sizes("hbw-kv:budget=pyramid,window=8") == linear);
    CHECK(sizes("h2o:budget=pyramid,recent=8") == linear);
}

TEMPLATE_TEST_CASE("examples: pyramidkv's observed weights", "", PolicyStream, SlowStream)
{
    // Three layers, 4 slots on average: weights 6 1 1 give 9 1.5 1.5; the first is limited to 2 * 4, which leaves 4
    // for the other two.
    const std::string allocation = GENERATE("entropy", "gini", "sparsity");
    const std::string spec = "pyramidkv:window=2,allocation=" + allocation;
    SyntheticSignals signals{.score = growing_scores(1, 1000)};
    signals.given_statistic = [](int layer, int) { return layer == 0 ? 6.0 : 1.0; };
    const StreamShape shape{.layers = 3, .heads = 1, .budget = 6};
    TestType stream(spec, shape, signals);
    const auto sizes = [&] {
        return Sizes{stream.kept(0, 0).size(), stream.kept(1, 0).size(), stream.kept(2, 0).size()};
    };
    for (int i = 0; i < 12; ++i)
        stream.feed(1); // chunks shorter than the window keep the weights equal
    CHECK(sizes() == Sizes{6, 6, 6});
    stream.feed(2); // shares 9 1.5 1.5; layer 0 has only 8 - 2 = 6 candidates, the others share 6
    CHECK(sizes() == Sizes{8, 5, 5});
    for (int i = 0; i < 12; ++i)
        stream.feed(1); // the weights do not change; layer 0 fills up to 2 * 4
    CHECK(sizes() == Sizes{10, 4, 4});
}

TEMPLATE_TEST_CASE("examples: a nested pyramid keeps what the layer below keeps", "", PolicyStream, SlowStream)
{
    const ScoreEntry scores = table_of_layers({{.5, .4, .3, .2, .1, 0}, {.1, .2, .3, .4, .5, 0}});
    for (const bool nested : {false, true}) {
        TestType stream(std::string("pyramidkv:window=1,pooling=none,beta=1,nested=") + (nested ? "true" : "false"),
                        {.layers = 2, .heads = 1, .budget = 3}, scores);
        stream.feed(6);
        CHECK(stream.kept(0, 0) == Tokens{0, 1, 5});
        CHECK(stream.kept(1, 0) == (nested ? Tokens{0, 1, 5} : Tokens{3, 4, 5}));
    }
    // beta = 2 over two layers: 1.5 and .5 times two slots, so 3 and 1. Layer 1 keeps its best of 0 1 2.
    TestType stream("pyramidkv:window=1,pooling=none,beta=2,nested=true", {.layers = 2, .heads = 1, .budget = 3},
                    scores);
    stream.feed(6);
    CHECK(stream.kept(0, 0) == Tokens{0, 1, 2, 5});
    CHECK(stream.kept(1, 0) == Tokens{2, 5});
}

TEMPLATE_TEST_CASE("examples: treekv-block drops the lower of two blocks", "", PolicyStream, SlowStream)
{
    // Blocks of two, budget 6: two blocks and two recent tokens. The block means are .15 and .35, so block 0 is
    // evicted. Then tokens 4 5 (.25) are compared with 6 7 (.35).
    TestType stream("treekv-block:unit=2", {.budget = 6}, table({.1, .2, .3, .4, .5, 0, .6, .1, 0, .2, .2}));
    stream.feed(7);
    CHECK(stream.kept(0, 0) == Tokens{2, 3, 4, 5, 6});
    stream.feed(2);
    CHECK(stream.kept(0, 0) == Tokens{2, 3, 6, 7, 8});
    stream.feed(2); // the cursor is back at the start: 2 3 (.35) and 6 7 (.35) tie, the left block is evicted
    CHECK(stream.kept(0, 0) == Tokens{6, 7, 8, 9, 10});
    TestType left("treekv-block:unit=2,rule=left", {.budget = 6});
    left.feed(7);
    CHECK(left.kept(0, 0) == Tokens{0, 1, 4, 5, 6});
    // Budget 7: slots that do not fill a block are added to the recent tokens, so all 7 are used.
    TestType odd("treekv-block:unit=2", {.budget = 7}, table({.1, .2, .3, .4, .5, 0, .6, .1}));
    odd.feed(7);
    CHECK(odd.kept(0, 0).size() == 7);
    odd.feed(1);
    CHECK(odd.kept(0, 0) == Tokens{2, 3, 4, 5, 6, 7});
}

TEMPLATE_TEST_CASE("examples: a layer profile with schedule=once divides the budget over the candidates there are",
                   "", PolicyStream, SlowStream)
{
    // A budget of 128 with a window of 8 leaves 120 slots per layer on average.
    const auto slots = [](int tokens, const std::string& keys) {
        TestType stream("pyramidkv:window=8,schedule=once" + keys, {.layers = 8, .heads = 1, .budget = 128},
                        constant_scores(5, 1 << 20));
        stream.feed_all(tokens, 64);
        stream.end_prefill();
        std::vector<size_t> out;
        for (int layer = 0; layer < 8; ++layer)
            out.push_back(stream.kept(layer, 0).size() - 8);
        return out;
    };
    using Slots = std::vector<size_t>;
    CHECK(slots(128, "") == Slots(8, 120)); // everything is kept
    CHECK(slots(90, "") == Slots(8, 82));
    CHECK(slots(129, "") == Slots(8, 120));
    CHECK(slots(240, "") == Slots(8, 120));
    CHECK(slots(1000, "") == Slots{234, 201, 169, 136, 104, 71, 39, 6});
    // Layer 0 has only 233 candidates; its spare slot goes to layer 1.
    CHECK(slots(241, "") == Slots{233, 202, 169, 136, 104, 71, 39, 6});
    CHECK(slots(1000, ",allocation=geometric") == Slots{397, 235, 140, 83, 49, 29, 17, 10});
    CHECK(slots(308, ",allocation=geometric") == Slots{300, 276, 164, 97, 57, 34, 20, 12});
    CHECK(slots(1000, ",allocation=exponential") == Slots{334, 220, 146, 97, 65, 45, 31, 22});
}

TEMPLATE_TEST_CASE("examples: hbw-kv's two rounds", "", PolicyStream, SlowStream)
{
    const std::vector<double> scores = {.9, .8, .1, .1, .2, .1, .7, .6, .1, .1, .3, .1, .05, .05, .5, .1, 0};
    CHECK(kept_of<TestType>("hbw-kv:window=1,block=2,rounds=1+2", 9, scores) ==
          Tokens{0, 1, 4, 5, 6, 7, 14, 15, 16});
    CHECK(kept_of<TestType>("hbw-kv:window=1,block=2,rounds=1", 9, scores) ==
          Tokens{0, 1, 6, 7, 10, 11, 14, 15, 16});
    CHECK(kept_of<TestType>("hbw-kv:window=1,block=1,rounds=1", 4, scores) == Tokens{0, 1, 6, 16});
}

TEMPLATE_TEST_CASE("examples: chunkkv keeps the best blocks", "", PolicyStream, SlowStream)
{
    // Blocks {0 1} {2 3} {4 5} {6}; the newest token is the window.
    const std::vector<double> scores = {.1, .5, .2, .2, .5, 0, .4, 0};
    const auto kept = [&](const std::string& keys, int budget) {
        return kept_of<TestType>("chunkkv:window=1,block=2" + keys, budget, scores);
    };
    CHECK(kept("", 5) == Tokens{0, 1, 4, 6, 7}); // the short block, {0 1}, and the best single token
    CHECK(kept("", 3) == Tokens{1, 6, 7});
    CHECK(kept(",score=sum", 5) == Tokens{0, 1, 4, 5, 7});
    CHECK(kept(",score=sum", 3) == Tokens{0, 1, 7});
}

TEMPLATE_TEST_CASE("examples: hbw-kv's representatives", "", PolicyStream, SlowStream)
{
    // Seven candidates in three blocks: [0, 2), [2, 4), [4, 7); the newest token is the window.
    const std::vector<double> scores = {.1, .4, .5, .5, .2, .6, .3, 0};
    const auto kept = [&](const std::string& kind) {
        return kept_of<TestType>("hbw-kv:window=1,representative=" + kind, 4, scores);
    };
    CHECK(kept("first") == Tokens{0, 2, 4, 7});
    CHECK(kept("last") == Tokens{1, 3, 6, 7});
    CHECK(kept("max") == Tokens{1, 2, 5, 7});
    CHECK(kept("avg") == Tokens{0, 2, 5, 7});

    TestType stream("hbw-kv:window=1,representative=avg", {.budget = 4}, table(scores));
    stream.feed(8);
    CHECK(stream.merged(0, 0) == std::vector<Tokens>{{0, 0, 1}, {2, 2, 3}, {5, 4, 5, 6}});
}

TEMPLATE_TEST_CASE("examples: refreekv's row", "", PolicyStream, SlowStream)
{
    const auto kept = [](const std::string& keys, int budget) {
        return kept_of<TestType>("refreekv:sinks=2,full_layers=0,floor=0," + keys, budget, refree_row);
    };
    CHECK(kept("mask_sinks=0", 64) == Tokens{0, 1, 5, 6, 7});
    CHECK(kept("mask_sinks=0,norm=mean", 64) == Tokens{0, 1, 5, 6, 7});
    CHECK(kept("mask_sinks=0,threshold=0.05", 64) == Tokens{0, 1, 7});
    CHECK(kept("mask_sinks=0", 4) == Tokens{0, 1, 6, 7});
    CHECK(kept("mask_sinks=2", 64) == Tokens{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(kept("mask_sinks=2,threshold=0.05", 64) == Tokens{0, 1, 3, 4, 5, 6, 7});
    CHECK(kept("ranking=score", 64) == Tokens{0, 1, 2, 3, 7});
    CHECK(kept_of<TestType>("refreekv:sinks=2,full_layers=1", 64, refree_row).size() == 8);
    CHECK(kept_of<TestType>("refreekv:sinks=2,full_layers=1", 6, refree_row) == Tokens{0, 1, 4, 5, 6, 7});
}

TEMPLATE_TEST_CASE("examples: refreekv keeps at least its floor", "", PolicyStream, SlowStream)
{
    const auto kept = [](const std::string& keys) {
        return kept_of<TestType>("refreekv:sinks=2,full_layers=0,mask_sinks=0,threshold=0.05" + keys, 24,
                                 refree_row);
    };
    CHECK(kept("") == Tokens{0, 1, 4, 5, 6, 7}); // a quarter of 24
    CHECK(kept(",floor=5") == Tokens{0, 1, 5, 6, 7});
    CHECK(kept(",floor=0") == Tokens{0, 1, 7});
}

TEMPLATE_TEST_CASE("examples: cake gives more slots to the layer whose attention varies more", "", PolicyStream,
                   SlowStream)
{
    // A budget of 4, including one recent token: 6 slots in two layers. The second chunk is the same in both
    // layers, so their entropies are equal; entry 0 moves from .2 to .4 in layer 0 and from .3 to .4 in layer 1, so
    // the variances are 4 : 1. The shares are 4.8 and 1.2, rounded to 5 and 1. With gamma 200 entry 0 of layer 1
    // scores .35 + 1 and beats entry 3 with .5.
    SyntheticSignals signals;
    signals.given = [](int layer, int, int chunk, uint32_t stream) {
        double a = stream == 3 ? .5 : .01 * stream;
        if (stream == 0) a = chunk == 1 ? .4 : layer == 0 ? .2 : .3;
        if (stream == 1) a = .1;
        return SyntheticSignals::Received{a, a};
    };
    const StreamShape shape{.layers = 2, .heads = 1, .budget = 4};
    TestType stream("cake:window=2,recent=1,pooling=none", shape, signals);
    stream.feed(2);
    stream.feed(6);
    CHECK(stream.kept(0, 0) == Tokens{0, 1, 3, 5, 6, 7});
    CHECK(stream.kept(1, 0) == Tokens{0, 7});

    TestType means("cake:window=2,recent=1,pooling=none,gamma=0", shape, signals);
    means.feed(2);
    means.feed(6);
    CHECK(means.kept(1, 0) == Tokens{3, 7});

    // tau2 = 2 halves the exponent: 2 : 1, four and two slots.
    TestType tamed("cake:window=2,recent=1,pooling=none,tau2=2", shape, signals);
    tamed.feed(2);
    tamed.feed(6);
    CHECK(tamed.kept(0, 0).size() == 5);
    CHECK(tamed.kept(1, 0).size() == 3);
}

TEMPLATE_TEST_CASE("examples: adakv moves slots between heads", "", PolicyStream, SlowStream)
{
    // Five of the best six of twelve candidates belong to head 0. floor=0.2 gives .6 + 4 and .6 + .8, so 5 and 1;
    // floor=0.5 gives 4 and 2.
    const ScoreEntry scores = table_of_heads({{.9, .8, .7, .6, .5, .01, 0}, {.4, .3, .05, .04, .03, .02, 0}});
    const auto kept = [&](const std::string& spec) {
        TestType stream(spec, {.heads = 2, .budget = 4}, scores);
        stream.feed(7);
        return stream.all_kept();
    };
    using Lists = std::vector<Tokens>;
    CHECK(kept("adakv:window=1,pooling=none") == Lists{{0, 1, 2, 3, 4, 6}, {0, 6}});
    CHECK(kept("adakv:window=1,pooling=none,floor=0.5") == Lists{{0, 1, 2, 3, 6}, {0, 1, 6}});
    CHECK(kept("adakv:window=1,pooling=none,floor=1") == Lists{{0, 1, 2, 6}, {0, 1, 2, 6}});
    CHECK(kept("h2o:recent=1,heads=ada") == Lists{{0, 1, 2, 3, 4, 6}, {0, 6}});
}

TEMPLATE_TEST_CASE("examples: slots moved between heads leave every list within the context", "", PolicyStream,
                   SlowStream)
{
    const ScoreEntry scores = table_of_heads({{.9, .8, .7, .6, .5, .01, 0}, {.4, .3, .05, .04, .03, .02, 0}});
    TestType stream("adakv:window=1,pooling=none", {.heads = 2, .budget = 4, .context = 12, .chunk = 7}, scores);
    stream.feed(7); // at most 12 - 7 - 1 = 4 slots
    CHECK(stream.all_kept() == std::vector<Tokens>{{0, 1, 2, 3, 6}, {0, 1, 6}});
}

TEMPLATE_TEST_CASE("examples: twilight-evict keeps the fewest entries whose scores reach the share p", "",
                   PolicyStream, SlowStream)
{
    const std::vector<double> scores = {.4, .1, .3, .1, .1}; // in descending order .4 .3 .1 sum to .8 of 1
    CHECK(kept_of<TestType>("twilight-evict:window=1,p=0.75", 64, scores) == Tokens{0, 1, 2, 4});
    CHECK(kept_of<TestType>("twilight-evict:window=1,p=0.75", 2, scores) == Tokens{0, 4});
    CHECK(kept_of<TestType>("twilight-evict:window=1,recent=0,p=0.4", 64, scores) == Tokens{0});
}

TEMPLATE_TEST_CASE("examples: an automatic budget keeps most of the norm of the heads' attention", "", PolicyStream,
                   SlowStream)
{
    // The order is sink 0, newest 7, then 1 2 3 6 5 4. The squares sum to .3088; the missing norms after two,
    // three, ... entries are .031 .014 .0103 .006, so 1 % needs five entries. A flat layer needs all eight, and six
    // are allowed. Without the sink the missing norms are .175 .078 .055 .033, so 6 % needs four entries.
    SyntheticSignals signals;
    signals.given = [](int layer, int, int, uint32_t entry) {
        const double a = layer == 0 ? refree_row[entry] : .125;
        return SyntheticSignals::Received{a, a};
    };
    const auto kept = [&](const std::string& keys, int layer) {
        TestType stream("snapkv:window=1,sinks=1,pooling=none,budget=auto," + keys,
                        {.layers = 2, .heads = 1, .budget = 6}, signals);
        stream.feed(8);
        return Tokens(stream.kept(layer, 0));
    };
    CHECK(kept("mask_sinks=0", 0) == Tokens{0, 1, 2, 3, 7});
    CHECK(kept("mask_sinks=0", 1) == Tokens{0, 1, 2, 3, 4, 7});
    CHECK(kept("mask_sinks=0,threshold=0.2", 0) == Tokens{0, 1, 7}); // at least one besides the protected entries
    CHECK(kept("mask_sinks=1,threshold=0.06", 0) == Tokens{0, 1, 2, 7});
    CHECK(kept("mask_sinks=1,threshold=0.06", 1) == Tokens{0, 1, 2, 3, 4, 7});
}
