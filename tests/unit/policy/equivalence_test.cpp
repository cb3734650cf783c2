// Policies that must agree: with the slow reference, with each other, and with themselves under other chunks.
#include <algorithm>
#include <random>
#include <set>

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/reference_policy.h"
#include "tests/unit/policy/policy_stream.h"

using namespace palimpsest::tests;
using palimpsest::engine::Pins;
using palimpsest::engine::Policy;
using palimpsest::engine::PolicySpec;
using palimpsest::engine::TokenRange;

namespace {

class Dice {
public:
    explicit Dice(uint32_t seed) : random_(seed) {}
    int from(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
    std::string one_of(const std::vector<std::string>& words)
    {
        return words[static_cast<size_t>(from(0, static_cast<int>(words.size()) - 1))];
    }

private:
    std::mt19937 random_;
};

std::string random_tree(Dice& dice, const std::string& name, int budget)
{
    const int sinks = dice.from(0, std::min(5, budget - 1));
    const int recent = dice.from(0, budget - sinks - 1);
    std::string spec = name + ":sinks=" + std::to_string(sinks) + ",recent=" + std::to_string(recent);
    spec += ",rule=" + dice.one_of({"score", "score", "left"}) + ",score=" + dice.one_of({"mean", "sum", "last"});
    if (name == "treekv" && dice.from(0, 1) == 1) spec += ",height=" + std::to_string(dice.from(1, 4));
    return spec;
}

std::string random_ladder(Dice& dice, int layers)
{
    const int span = dice.from(1, layers - 1);
    return "lacache:sinks=" + std::to_string(dice.from(0, 4)) + ",span=" + std::to_string(span) +
           ",overlap=" + std::to_string(dice.from(0, span - 1)) +
           ",pattern=" + dice.one_of({"stacked", "ladder", "reverse", "even", "recent", "old"}) +
           ",compensate=" + dice.one_of({"true", "false"});
}

std::string random_spec(Dice& dice, const StreamShape& shape)
{
    std::string spec;
    switch (dice.from(0, 3)) {
    case 0:
        spec = "streaming:sinks=" + std::to_string(dice.from(0, shape.budget));
        break;
    case 1:
        spec = random_tree(dice, "treekv", shape.budget);
        break;
    case 2:
        spec = random_tree(dice, "treekv-log", shape.budget);
        break;
    default:
        spec = random_ladder(dice, shape.layers);
        break;
    }
    if (dice.from(0, 4) == 0) spec += ",schedule=every:" + std::to_string(dice.from(1, 20));
    return spec;
}

std::unique_ptr<Policy> policy_of(const std::string& spec, const StreamShape& shape)
{
    return palimpsest::engine::make_policy(
        PolicySpec::parse(spec),
        {.layers = shape.layers, .kv_heads = shape.heads, .budget = shape.budget, .pins = shape.pins});
}

bool is_accepted(const std::string& spec, const StreamShape& shape)
{
    try {
        policy_of(spec, shape);
        return true;
    } catch (const palimpsest::Error& error) {
        return error.code() != "PAL-POLICY-04" &&
               error.code() != "PAL-PIN-01"; // only combinations may be refused here
    }
}

// Often none; otherwise a few ranges anywhere in the stream, the sinks and what is never read included.
Pins random_pins(Dice& dice, uint32_t stream)
{
    std::vector<TokenRange> ranges;
    for (int i = dice.from(-2, 3); i > 0; --i) {
        const auto first = static_cast<uint32_t>(dice.from(0, dice.from(0, 2) == 0 ? 9 : static_cast<int>(stream)));
        ranges.push_back({first, first + static_cast<uint32_t>(dice.from(0, 8))});
    }
    return Pins(ranges);
}

std::set<uint32_t> tokens_of(const Pins& pins)
{
    std::set<uint32_t> tokens;
    for (const TokenRange& range : pins.ranges())
        for (uint32_t token = range.first; token < range.last; ++token)
            tokens.insert(token);
    return tokens;
}

std::vector<std::vector<uint32_t>> kept(ReferencePolicy& reference, const StreamShape& shape)
{
    std::vector<std::vector<uint32_t>> out;
    for (int layer = 0; layer < shape.layers; ++layer) {
        for (int head = 0; head < shape.heads; ++head) {
            auto& streams = out.emplace_back();
            for (const auto& entry : reference.list(layer, head))
                streams.push_back(entry.stream);
        }
    }
    return out;
}

void feed(ReferencePolicy& reference, const StreamShape& shape, int tokens, int chunk, const ScoreEntry& score)
{
    reference.append(tokens);
    for (int layer = 0; layer < shape.layers; ++layer) {
        for (int head = 0; head < shape.heads; ++head) {
            for (auto& entry : reference.list(layer, head)) {
                score(layer, head, chunk, entry.stream, entry.sum, entry.count);
            }
        }
        reference.evict(layer);
    }
}

// One random setting over one random stream, compared after every chunk. Pins may change on the way.
void compare_once(uint32_t seed, bool with_pins)
{
    Dice dice(seed);
    StreamShape shape{.layers = dice.from(2, 9),
                      .heads = dice.from(1, 3),
                      .budget = dice.from(1, 40),
                      .pins = with_pins ? random_pins(dice, 400) : Pins()};
    std::string spec = random_spec(dice, shape);
    while (!is_accepted(spec, shape)) {
        shape.budget = dice.from(1, 60);
        if (with_pins) shape.pins = random_pins(dice, 400);
        spec = random_spec(dice, shape);
    }
    const auto values = static_cast<uint64_t>(dice.from(0, 1) == 0 ? 4 : 1 << 20);
    const ScoreEntry score = dice.from(0, 2) == 0 ? constant_scores(seed, values) : growing_scores(seed, values);
    PolicyStream fast(spec, shape, score);
    ReferencePolicy slow(PolicySpec::parse(spec), shape.layers, shape.heads, shape.budget, tokens_of(shape.pins));
    const int longest = std::vector<int>{1, 3, 17, 200}[static_cast<size_t>(dice.from(0, 3))];
    for (int chunk = 0, seen = 0; seen < 400; ++chunk) {
        const int tokens = dice.from(1, longest);
        if (with_pins && dice.from(0, 9) == 0) {
            const Pins before = shape.pins;
            shape.pins = random_pins(dice, static_cast<uint32_t>(seen) + 40);
            if (is_accepted(spec, shape)) {
                fast = fast.with(policy_of(spec, shape));
                slow = slow.restarted(PolicySpec::parse(spec), tokens_of(shape.pins));
            } else {
                shape.pins = before;
            }
        }
        fast.feed(tokens);
        feed(slow, shape, tokens, chunk, score);
        seen += tokens;
        if (fast.all_kept() != kept(slow, shape)) {
            FAIL("seed " << seed << ", " << spec << ", budget " << shape.budget << ", " << shape.layers
                         << " layers, after " << seen << " tokens");
        }
    }
}

} // namespace

TEST_CASE("policies: the engine keeps what the slow reference keeps")
{
    for (uint32_t seed = 1; seed <= 600; ++seed)
        compare_once(seed, false);
}

TEST_CASE("policies: beside pins the engine keeps what the slow reference keeps")
{
    for (uint32_t seed = 1; seed <= 600; ++seed)
        compare_once(seed, true);
}

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
