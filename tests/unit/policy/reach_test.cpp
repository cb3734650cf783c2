// The structure of treekv-log, and how far back treekv, treekv-log and lacache reach (docs/policies-spec.md).
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/policy/selection/fullest_level.h"
#include "tests/support/catch.h"
#include "tests/support/test_level.h"
#include "tests/unit/policy/policy_stream.h"

using namespace palimpsest;
using namespace palimpsest::tests;

namespace {

struct ScheduledStream {
    engine::FullestLevel schedule;
    int sinks, recent, slots;

    ScheduledStream(int sinks_, int recent_, int slots_)
        : schedule(1, slots_), sinks(sinks_), recent(recent_), slots(slots_)
    {
    }

    // Feeds a chunk to a list that is at its budget.
    void feed(int tokens)
    {
        const auto budget = static_cast<uint32_t>(sinks + slots + recent);
        std::vector<uint32_t> tiles;
        schedule.next_tiles(0,
                            {.size = budget + static_cast<uint32_t>(tokens),
                             .budget = budget,
                             .first = static_cast<uint32_t>(sinks),
                             .slots = static_cast<uint32_t>(slots)},
                            tiles);
        REQUIRE(tiles.size() == 2 * static_cast<size_t>(tokens));
    }
};

// Counts the middle slots that hold tokens of the first nine tenths of the stream.
int reach(const std::string& name, int tokens, uint64_t seed)
{
    constexpr int budget = 2048, sinks = 4, recent = 1020;
    PolicyStream stream(name, {.layers = 1, .heads = 1, .budget = budget},
                        constant_scores(seed, uint64_t{1} << 40));
    stream.feed_all(tokens, 512);
    const auto& kept = stream.kept(0, 0);
    const auto border = static_cast<uint32_t>(static_cast<int64_t>(tokens) * 9 / 10);
    return static_cast<int>(
        std::count_if(kept.begin() + sinks, kept.end() - recent, [&](uint32_t index) { return index < border; }));
}

} // namespace

TEST_CASE("treekv-log: levels never increase from old to new, and are evenly filled")
{
    for (uint32_t seed = 1; seed <= 30; ++seed) {
        std::mt19937 random(seed);
        const int slots = static_cast<int>(1 + random() % 200);
        ScheduledStream stream(4, 3, slots);
        for (int step = 0; step < 300; ++step) {
            stream.feed(static_cast<int>(1 + random() % 40));
            const std::vector<uint32_t> levels = stream.schedule.levels(0);
            CAPTURE(seed, slots, step);
            REQUIRE(levels.size() == static_cast<size_t>(slots));
            REQUIRE(std::is_sorted(levels.rbegin(), levels.rend()));
        }
        std::map<uint32_t, int> count;
        for (const uint32_t level : stream.schedule.levels(0))
            ++count[level];
        count.erase(std::prev(count.end()));
        for (const auto& [a, entries] : count) {
            for (const auto& [b, others] : count)
                CHECK(std::abs(entries - others) <= 3);
        }
    }
}

TEST_CASE("treekv-log: with rule=left the kept tokens do not depend on the model")
{
    const StreamShape shape{.layers = 3, .heads = 2, .budget = 64};
    PolicyStream one("treekv-log:rule=left", shape, growing_scores(1, 1000));
    PolicyStream other("treekv-log:rule=left", shape, growing_scores(2, 1000));
    CHECK_FALSE(one.policy().signals().any());
    one.feed_all(2000, 16);
    other.feed_all(2000, 16);
    CHECK(one.all_kept() == other.all_kept());
    for (const auto& kept : one.all_kept())
        CHECK(kept == one.kept(0, 0));
}

TEST_CASE("treekv loses tokens older than its cycle, treekv-log keeps a share of the whole stream")
{
    struct Case {
        int tokens, tree, log;
    };
    for (const Case& c : {Case{16384, 715, 675}, Case{131072, 1, 334}, Case{1000000, 1, 250}}) {
        if (at_ci_level() && c.tokens > 20000) continue;
        CAPTURE(c.tokens);
        const int tree = reach("treekv", c.tokens, 5);
        const int log = reach("treekv-log", c.tokens, 5);
        CAPTURE(tree, log);
        if (c.tree > 1) {
            CHECK(std::abs(tree - c.tree) <= 3);
        } else {
            CHECK(tree <= 1);
        }
        CHECK(std::abs(log - c.log) <= 3);
    }
}

TEST_CASE("lacache loses tokens older than its cycle, in every layer")
{
    if (at_ci_level()) return; // without sanitizers only: 131,072 tokens in 32 layers
    constexpr int layers = 32, budget = 2048, sinks = 4, tokens = 131072;
    PolicyStream stream("lacache:span=16", {.layers = layers, .heads = 1, .budget = budget});
    stream.feed_all(tokens, 512);
    std::set<uint32_t> in_any_layer;
    size_t most = 0;
    for (int layer = 0; layer < layers; ++layer) {
        std::set<uint32_t> old;
        for (const uint32_t index : stream.kept(layer, 0)) {
            if (index >= sinks && index < tokens / 10 * 9) old.insert(index);
        }
        most = std::max(most, old.size());
        in_any_layer.insert(old.begin(), old.end());
    }
    CHECK(most == 13);
    CHECK(in_any_layer.size() == 25);
}
