// What `random` promises beyond its agreement with the slow reference: a uniform sample of the stream, which
// depends on nothing but seed, layer, head and budget.
#include <algorithm>
#include <map>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/reference_choices.h"
#include "tests/unit/policy/random_settings.h"

using namespace palimpsest::tests;
using Tokens = std::vector<uint32_t>;

namespace {

// The candidates of the whole stream, `sinks` to tokens - recent - 1, that come first in the list's order.
Tokens first_of_stream(uint64_t seed, int layer, int head, const StreamShape& shape, int sinks, int recent,
                       int tokens)
{
    std::vector<uint32_t> streams;
    for (int t = sinks; t < tokens - recent; ++t)
        streams.push_back(static_cast<uint32_t>(t));
    Tokens kept;
    for (int t = 0; t < sinks; ++t)
        kept.push_back(static_cast<uint32_t>(t));
    for (const int i : choose_randomly(seed, layer, head, streams, shape.budget - sinks - recent))
        kept.push_back(streams[static_cast<size_t>(i)]);
    for (int t = tokens - recent; t < tokens; ++t)
        kept.push_back(static_cast<uint32_t>(t));
    return kept;
}

} // namespace

TEST_CASE("random: however a stream is cut into chunks, the kept tokens are the first of all its candidates")
{
    for (uint32_t seed = 1; seed <= 30; ++seed) {
        Dice dice(seed);
        const int sinks = dice.from(0, 4), recent = dice.from(0, 20);
        const StreamShape shape{
            .layers = dice.from(1, 4), .heads = dice.from(1, 3), .budget = sinks + recent + dice.from(1, 30)};
        std::string spec = "random:sinks=" + std::to_string(sinks) + ",recent=" + std::to_string(recent) +
                           ",seed=" + std::to_string(seed);
        PolicyStream stream(spec, shape);
        int seen = 0;
        while (seen < 200) {
            const int tokens = dice.from(1, 40);
            stream.feed(tokens);
            seen += tokens;
        }
        CAPTURE(spec, seen);
        for (int layer = 0; layer < shape.layers; ++layer)
            for (int head = 0; head < shape.heads; ++head)
                REQUIRE(stream.kept(layer, head) == first_of_stream(seed, layer, head, shape, sinks, recent, seen));
        CHECK(stream.state_words().empty());
    }
}

TEST_CASE("random: over many lists every token, and every pair, is kept equally often")
{
    // 8,000 lists keep 5 of 20 tokens: 2,000 times each token, 421 times each pair. The bounds are six standard
    // deviations, which a sample of this size exceeds by chance less than once in a million runs; seeds are fixed.
    const StreamShape shape{.layers = 4, .heads = 2, .budget = 5};
    std::map<uint32_t, int> single;
    std::map<std::pair<uint32_t, uint32_t>, int> pairs;
    for (int seed = 0; seed < 1000; ++seed) {
        PolicyStream stream("random:sinks=0,recent=0,seed=" + std::to_string(seed), shape);
        stream.feed_all(20, 7);
        for (const Tokens& kept : stream.all_kept())
            for (size_t i = 0; i < kept.size(); ++i) {
                ++single[kept[i]];
                for (size_t j = i + 1; j < kept.size(); ++j)
                    ++pairs[{kept[i], kept[j]}];
            }
    }
    CHECK(single.size() == 20);
    CHECK(pairs.size() == 190);
    for (const auto& [token, times] : single)
        CHECK(std::abs(times - 2000) < 6 * 39);
    for (const auto& [pair, times] : pairs)
        CHECK(std::abs(times - 421) < 6 * 20);
}

TEST_CASE("random: seeds, layers and heads give different samples")
{
    const StreamShape shape{.layers = 3, .heads = 3, .budget = 30};
    std::set<Tokens> samples;
    for (const int seed : {0, 1, 2147483647}) {
        PolicyStream stream("random:seed=" + std::to_string(seed), shape);
        stream.feed_all(500, 64);
        for (const Tokens& kept : stream.all_kept())
            samples.insert(kept);
    }
    CHECK(samples.size() == 27);
}
