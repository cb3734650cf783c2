// Policies that are equal under some setting, and policies that do not depend on the chunk size.
#include <algorithm>

#include "tests/support/catch.h"
#include "tests/support/test_level.h"
#include "tests/unit/policy/random_settings.h"

using namespace palimpsest::tests;

TEST_CASE("policies: treekv with rule=left equals lacache with pattern=even")
{
    for (uint32_t seed = 1; seed <= 100; ++seed) {
        Dice dice(seed);
        const int layers = dice.from(2, 8);
        const int sinks = dice.from(0, 4), recent = dice.from(0, 12), slots = dice.from(1, 30);
        const StreamShape shape{.layers = layers, .heads = 1, .budget = sinks + recent + slots};
        const std::string ends = "sinks=" + std::to_string(sinks) + ",recent=" + std::to_string(recent);
        const int span = dice.from((layers + 1) / 2, layers - 1);
        PolicyStream tree("treekv:rule=left," + ends, shape);
        PolicyStream ladder("lacache:pattern=even,overlap=0,span=" + std::to_string(span) + "," + ends, shape);
        for (int seen = 0; seen < 300;) {
            const int tokens = dice.from(1, 40);
            tree.feed(tokens);
            ladder.feed(tokens);
            seen += tokens;
            CAPTURE(seed, seen, ends, span, layers);
            REQUIRE(tree.all_kept() == ladder.all_kept());
        }
    }
}

TEST_CASE("policies: lacache with pattern=recent equals streaming")
{
    const StreamShape shape{.layers = 4, .heads = 2, .budget = 24};
    PolicyStream streaming("streaming:sinks=3", shape);
    PolicyStream recent("lacache:pattern=recent,sinks=3", shape);
    for (const int tokens : {10, 10, 10, 1, 1, 100, 7}) {
        streaming.feed(tokens);
        recent.feed(tokens);
        CHECK(streaming.all_kept() == recent.all_kept());
    }
}

TEST_CASE("policies: some settings of different policies are equal")
{
    struct Pair {
        std::string one, other;
    };
    const std::vector<Pair> pairs = {
        {"hbw-kv:block=1,rounds=1,window=8", "snapkv:pooling=none,window=8"},
        {"chunkkv:block=1,window=8", "snapkv:pooling=none,window=8"},
        {"chunkkv:block=3,window=8", "hbw-kv:block=3,rounds=1,window=8"},
        {"chunkkv:block=1,score=sum,window=8", "chunkkv:block=1,window=8"},
        {"pyramidkv:beta=1", "snapkv:window=8,kernel=7,pooling=max"},
        {"pyramidkv:beta=1,allocation=geometric", "snapkv:window=8,kernel=7,pooling=max"},
        {"pyramidkv:allocation=exponential", "snapkv:window=8,kernel=7,pooling=max,budget=pyramid,"
                                             "allocation=exponential"},
        {"pyramidkv:allocation=entropy", "snapkv:window=8,kernel=7,pooling=max,budget=pyramid,allocation=entropy"},
        {"adakv:floor=1,window=8", "snapkv:window=8,kernel=7,pooling=max"},
        {"adakv:window=8", "snapkv:window=8,kernel=7,pooling=max,heads=ada"},
        {"pyramidkv:heads=ada", "adakv:window=8,budget=pyramid"},
        {"lacache:pattern=recent,sinks=3", "streaming:sinks=3"},
        {"treekv-log:budget=pyramid,beta=1", "treekv-log"},
        {"twilight-evict:p=1,window=8", "snapkv:pooling=none,window=8"},
        {"snapkv:window=8,budget=auto,threshold=0.0000000001,mask_sinks=0", "snapkv:window=8"},
        {"refreekv:threshold=0.0000000001", "streaming"},
        {"refreekv:full_layers=6", "streaming"},
        {"h2o:schedule=every:1", "h2o"},
        {"knorm:sinks=2,recent=9", "scissorhands:window=2147483647,sinks=2,recent=9"}, // both: the least sums
        {"keydiff:sinks=2,recent=9", "knorm:sinks=2,recent=9"},                        // from the same sums
        {"h2o:score=mean,recent=12", "snapkv:window=2147483647,recent=12,pooling=none"},
        {"treekv:budget=pyramid,beta=1", "treekv"},
    };
    for (const Pair& pair : pairs) {
        for (uint32_t seed = 1; seed <= (at_ci_level() ? 2u : 10u); ++seed) {
            Dice dice(seed);
            const StreamShape shape{.layers = 6, .heads = 3, .budget = dice.from(24, 70)};
            const SyntheticSignals signals{.by_rows = true, .seed = seed};
            PolicyStream one(pair.one, shape, signals), other(pair.other, shape, signals);
            for (int seen = 0; seen < 300;) {
                const int tokens = dice.from(1, 30);
                one.feed(tokens);
                other.feed(tokens);
                seen += tokens;
                CAPTURE(pair.one, pair.other, seed, seen);
                REQUIRE(one.all_kept() == other.all_kept());
            }
        }
    }
}

TEST_CASE("policies: with one head per layer tova equals snapkv with a window of one")
{
    // The count of every score stays 1, as with a window of one.
    const StreamShape shape{.layers = 3, .heads = 1, .budget = 20};
    PolicyStream tova("tova", shape, constant_scores(3, 1 << 20));
    PolicyStream window("snapkv:window=1,recent=0,pooling=none", shape, constant_scores(3, 1 << 20));
    for (const int tokens : {10, 30, 1, 1, 7, 100}) {
        tova.feed(tokens);
        window.feed(tokens);
        CHECK(tova.all_kept() == window.all_kept());
    }
}

TEST_CASE("policies: lacache with tiles of two and survivors=score equals treekv, except for ties")
{
    for (uint32_t seed = 1; seed <= 20; ++seed) {
        const StreamShape shape{.layers = 4, .heads = 2, .budget = 40};
        const ScoreEntry score = growing_scores(seed, uint64_t{1} << 40);
        PolicyStream ladder("lacache:span=2,survivors=score,recent=12", shape, score);
        PolicyStream tree("treekv:recent=12", shape, score);
        for (const int tokens : {30, 30, 1, 1, 1, 50, 9, 200}) {
            ladder.feed(tokens);
            tree.feed(tokens);
            CAPTURE(seed);
            REQUIRE(ladder.all_kept() == tree.all_kept());
        }
    }
}

TEST_CASE("policies: a budget as large as the stream keeps every token")
{
    // Excludes pyramidkv, refreekv, twilight-evict and automatic budgets, which evict before the budget is full.
    const StreamShape shape{.layers = 6, .heads = 2, .budget = 200};
    for (const std::string spec : {"streaming",
                                   "h2o",
                                   "random",
                                   "knorm",
                                   "keydiff",
                                   "scissorhands",
                                   "scissorhands:drop=0.25",
                                   "tova",
                                   "snapkv",
                                   "treekv",
                                   "treekv-log",
                                   "treekv-block",
                                   "lacache",
                                   "lacache:pattern=old",
                                   "lacache:survivors=score",
                                   "hbw-kv",
                                   "hbw-kv:representative=avg",
                                   "chunkkv",
                                   "cake",
                                   "adakv",
                                   "adakv:floor=0",
                                   "h2o:heads=ada",
                                   "treekv:heads=ada",
                                   "pyramidkv:allocation=entropy",
                                   "pyramidkv:allocation=gini,heads=ada",
                                   "quest",
                                   "twilight",
                                   "full"}) {
        PolicyStream stream(spec, shape, SyntheticSignals{.score = growing_scores(3, 50)});
        for (const int tokens : {1, 40, 7, 33, 1, 1, 117}) {
            stream.feed(tokens);
        }
        CAPTURE(spec);
        for (const auto& kept : stream.all_kept())
            CHECK(kept.size() == 200);
    }
}

TEST_CASE("policies: the chunk length changes nothing if scores do not change")
{
    const StreamShape shape{.layers = 6, .heads = 2, .budget = 48};
    const int tokens = 64 * 7 * 3; // a multiple of every chunk length below
    size_t index = 0;
    for (const std::string spec : {"streaming",
                                   "treekv",
                                   "treekv:height=3",
                                   "treekv:rule=left",
                                   "treekv:rule=left,height=2",
                                   "treekv-log",
                                   "treekv-log:rule=left",
                                   "lacache",
                                   "lacache:span=3,overlap=1,pattern=ladder",
                                   "lacache:pattern=reverse",
                                   "lacache:span=2,pattern=even",
                                   "lacache:pattern=old",
                                   "lacache:span=1,compensate=true",
                                   "knorm",
                                   "random",
                                   "random:sinks=0,recent=0,seed=3",
                                   "h2o",
                                   "h2o:score=mean",
                                   "h2o:sinks=4,recent=0",
                                   "h2o:budget=pyramid",
                                   "scissorhands",
                                   "snapkv:pooling=none",
                                   "treekv:budget=pyramid",
                                   "treekv-log:budget=pyramid,allocation=geometric",
                                   "tova"}) {
        if (!runs_here(index++, 3)) continue;
        const ScoreEntry score = constant_scores(11, 1000);
        PolicyStream single(spec, shape, score);
        single.feed_all(tokens, 1);
        for (const int chunk : {7, 64, tokens}) {
            PolicyStream chunked(spec, shape, score);
            chunked.feed_all(tokens, chunk);
            CAPTURE(spec, chunk);
            CHECK(chunked.all_kept() == single.all_kept());
            CHECK(chunked.state_words() == single.state_words());
        }
    }
}
