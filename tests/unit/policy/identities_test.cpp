// Policies that are the same under some setting, and policies that chunks do not change.
#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/policy/random_settings.h"

using namespace palimpsest::tests;

TEST_CASE("policies: treekv's left ablation is lacache's even pattern")
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

TEST_CASE("policies: lacache's recent-first is streaming")
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

TEST_CASE("policies: chunks change nothing where scores do not change")
{
    const StreamShape shape{.layers = 6, .heads = 2, .budget = 48};
    const int tokens = 64 * 7 * 3; // so that every length below ends full chunks here
    for (const std::string spec :
         {"streaming", "treekv", "treekv:height=3", "treekv:rule=left", "treekv:rule=left,height=2", "treekv-log",
          "treekv-log:rule=left", "lacache", "lacache:span=3,overlap=1,pattern=ladder", "lacache:pattern=reverse",
          "lacache:span=2,pattern=even", "lacache:pattern=old", "lacache:span=1,compensate=true"}) {
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
