// Every policy keeps pinned tokens and counts them in its budget.
#include <algorithm>
#include <random>

#include "engine/policy/named/registry.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/policy/policy_stream.h"

using namespace palimpsest;
using namespace palimpsest::tests;
using engine::Pins;
using engine::TokenRange;

namespace {

std::vector<std::string> bounded_policies()
{
    std::vector<std::string> names;
    for (const auto& info : engine::policies())
        if (info.name != "full") names.push_back(info.name);
    return names;
}

void check_refused(const std::string& spec, const StreamShape& shape, const std::string& words)
{
    try {
        PolicyStream stream(spec, shape);
        FAIL("accepted: " << spec);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::Usage);
        CHECK(error.code() == ErrorCode::PinsExceedBudget);
        CHECK_THAT(error.what(), Catch::Contains(words));
    }
}

} // namespace

TEST_CASE("pins: ranges are sorted and joined")
{
    const Pins pins({{30, 40}, {5, 5}, {10, 20}, {15, 22}, {22, 25}, {9, 3}});
    CHECK(pins.ranges() == std::vector<TokenRange>{{10, 25}, {30, 40}});
    CHECK(pins.tokens() == 25);
    CHECK(Pins({{4, 4}}).empty());

    const std::vector<uint32_t> stream = {0, 9, 10, 24, 25, 29, 31, 39, 40, 77};
    std::vector<uint32_t> ranks = {1, 2, 3};
    pins.unpinned(stream, ranks);
    CHECK(ranks == std::vector<uint32_t>{0, 1, 4, 5, 8, 9});
    pins.unpinned({}, ranks);
    CHECK(ranks.empty());
}

TEST_CASE("pins: tokens that are pinned before they are read are never evicted, within the budget")
{
    const std::vector<TokenRange> ranges = {{2, 5}, {100, 107}, {350, 352}, {9000, 9003}};
    for (const std::string& name : bounded_policies()) {
        for (const std::string more : {"", ":schedule=every:6"}) {
            std::mt19937 random(4);
            const StreamShape shape{.layers = 6, .heads = 2, .budget = 64, .pins = Pins(ranges)};
            PolicyStream stream(name + more, shape, growing_scores(4, 50));
            CAPTURE(name, more);
            for (uint32_t seen = 0; seen < 500;) {
                const uint32_t tokens = 1 + static_cast<uint32_t>(random() % 30);
                stream.feed(static_cast<int>(tokens));
                seen += tokens;
                for (int layer = 0; layer < shape.layers; ++layer)
                    for (int head = 0; head < shape.heads; ++head) {
                        const auto& kept = stream.kept(layer, head);
                        REQUIRE(kept.size() <= static_cast<size_t>(stream.policy().list_budget(layer, head)));
                        for (const TokenRange& range : ranges)
                            for (uint32_t token = range.first; token < std::min(range.last, seen); ++token)
                                REQUIRE(std::binary_search(kept.begin(), kept.end(), token));
                    }
            }
        }
    }
}

TEST_CASE("pins: pins beyond the end of the stream change only the policy's own slots")
{
    const StreamShape pinned{.layers = 4, .heads = 2, .budget = 40, .pins = Pins({{9000, 9008}})};
    PolicyStream stream("streaming", pinned), plain("streaming", {.layers = 4, .heads = 2, .budget = 40});
    for (const int tokens : {30, 50, 1, 1, 7}) {
        stream.feed(tokens);
        plain.feed(tokens);
        CHECK(stream.all_kept() == plain.all_kept());
    }
}

TEST_CASE("pins: if pins leave every layer the same slots, all lists are still cut in the same step")
{
    // Without pins a layer has 9 slots on average; with the pins every layer has 1.
    const std::string spec =
        "pyramidkv:sinks=3,recent=8,window=8,allocation=exponential,beta=2.5,schedule=every:10";
    StreamShape shape{.layers = 3, .heads = 1, .budget = 20};
    const SyntheticSignals signals{.score = growing_scores(4, 1 << 20)};
    PolicyStream before(spec, shape, signals);
    before.feed(60);
    const auto longest = static_cast<int>(before.kept(0, 0).size());
    REQUIRE(before.kept(2, 0).size() < before.kept(0, 0).size());
    shape.pins = Pins({{9000, 9008}});
    PolicyStream stream = before.with(engine::make_policy(engine::PolicySpec::parse(spec), context_of(shape)));
    stream.feed(29 - longest);
    CHECK(stream.kept(0, 0).size() == 29);
    stream.feed(1); // the first layer now exceeds the budget by ten entries, the others by fewer
    for (int layer = 0; layer < shape.layers; ++layer)
        CHECK(stream.kept(layer, 0).size() == 20);
}

TEST_CASE("pins: pins that leave too little of the budget are refused")
{
    check_refused("streaming", {.layers = 2, .heads = 1, .budget = 16, .pins = Pins({{0, 16}})},
                  "16 pinned tokens do not fit a budget of 16");
    check_refused("streaming", {.layers = 2, .heads = 1, .budget = 16, .pins = Pins({{0, 4000000000}})},
                  "4000000000 pinned tokens");
    check_refused("treekv", {.layers = 2, .heads = 1, .budget = 16, .pins = Pins({{0, 12}})},
                  "leave no slot to choose in a budget of 4");
}
