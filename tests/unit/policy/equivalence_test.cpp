// The engine's policies against the slow reference: random settings on random streams, compared after every chunk.
#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/policy/random_settings.h"
#include "tests/unit/policy/slow_stream.h"

using namespace palimpsest::tests;
using palimpsest::engine::make_policy;
using palimpsest::engine::Pins;
using palimpsest::engine::PolicySpec;

namespace {

struct Setting {
    StreamShape shape;
    std::string spec;
};

Setting random_setting(Dice& dice, const std::string& policy, bool with_pins)
{
    Setting out{.shape = {.layers = dice.from(2, 9), .heads = dice.from(1, 3)}, .spec = {}};
    do {
        out.shape.budget = dice.from(1, 60);
        out.shape.context = std::numeric_limits<int>::max();
        out.shape.chunk = 0;
        if (dice.from(0, 3) == 0) {
            out.shape.chunk = 200;
            // A context this small leaves heads few or no slots to share; settings that share slots may then be
            // refused.
            out.shape.context = out.shape.budget + out.shape.chunk + dice.from(-10, 20);
        }
        out.shape.pins = with_pins ? random_pins(dice, 400) : Pins();
        out.spec = random_spec(dice, policy, out.shape);
    } while (!is_accepted(out.spec, out.shape));
    return out;
}

SyntheticSignals random_signals(Dice& dice, uint32_t seed)
{
    const auto values = static_cast<uint64_t>(dice.from(0, 1) == 0 ? 4 : 1 << 20);
    const ScoreEntry score = dice.from(0, 2) == 0 ? constant_scores(seed, values) : growing_scores(seed, values);
    return {.score = score, .seed = seed, .values = values};
}

// Returns the first difference as a readable message; empty if there is none.
std::string first_difference(PolicyStream& fast, SlowStream& slow, const StreamShape& shape)
{
    for (int layer = 0; layer < shape.layers; ++layer) {
        for (int head = 0; head < shape.heads; ++head) {
            const auto expected = slow.kept(layer, head);
            const auto& kept = fast.kept(layer, head);
            if (kept != expected)
                return "layer " + std::to_string(layer) + ", head " + std::to_string(head) + ": engine " +
                       Catch::Detail::stringify(kept) + ", reference " + Catch::Detail::stringify(expected);
            if (fast.merged(layer, head) != slow.merged(layer, head))
                return "other merges in layer " + std::to_string(layer);
        }
    }
    return "";
}

void compare_once(const std::string& policy, uint32_t seed, bool with_pins)
{
    Dice dice(seed);
    Setting setting = random_setting(dice, policy, with_pins);
    StreamShape& shape = setting.shape;
    INFO(setting.spec << ", seed " << seed << ", budget " << shape.budget << ", " << shape.layers << " layers, "
                      << shape.heads << " heads");
    const SyntheticSignals signals = random_signals(dice, seed);
    PolicyStream fast(setting.spec, shape, signals);
    SlowStream slow(setting.spec, shape, signals);
    const int longest = std::vector<int>{1, 3, 17, 200}[static_cast<size_t>(dice.from(0, 3))];
    const int end = dice.from(50, 400); // the end of the reading, for schedule=once
    for (int seen = 0; seen < 400;) {
        const int tokens = dice.from(1, longest);
        if (with_pins && dice.from(0, 9) == 0) {
            const Pins before = shape.pins;
            shape.pins = random_pins(dice, static_cast<uint32_t>(seen) + 40);
            if (is_accepted(setting.spec, shape)) {
                auto next = make_policy(PolicySpec::parse(setting.spec), context_of(shape));
                if (next->waits_for_end() && !fast.policy().waits_for_end()) next->resume_ended();
                fast = fast.with(std::move(next));
                slow.restart(setting.spec, shape.pins);
            } else {
                shape.pins = before;
            }
        }
        fast.feed(tokens);
        slow.feed(tokens);
        seen += tokens;
        if (seen >= end && fast.policy().waits_for_end()) {
            fast.end_prefill();
            slow.end_prefill();
            CHECK_FALSE(fast.policy().waits_for_end());
        }
        const std::string difference = first_difference(fast, slow, shape);
        if (!difference.empty())
            FAIL(shape.pins.tokens() << " pinned, after " << seen << " tokens: " << difference);
    }
}

} // namespace

TEST_CASE("policies: the engine keeps what the slow reference keeps")
{
    for (const std::string& policy : evicting_policies()) {
        DYNAMIC_SECTION(policy)
        {
            for (uint32_t seed = 1; seed <= draws(150); ++seed)
                compare_once(policy, seed, false);
        }
    }
}

TEST_CASE("policies: with pins the engine keeps what the slow reference keeps")
{
    for (const std::string& policy : evicting_policies()) {
        DYNAMIC_SECTION(policy)
        {
            for (uint32_t seed = 1; seed <= draws(150); ++seed)
                compare_once(policy, seed, true);
        }
    }
}

TEST_CASE("policies: schedule=once evicts when the reading ends, as the reference does, and never again")
{
    const StreamShape shape{.layers = 4, .heads = 2, .budget = 40};
    for (const std::string& policy : evicting_policies()) {
        DYNAMIC_SECTION(policy)
        {
            const std::string spec =
                policy + ":schedule=once" +
                (policy == "cake" || policy == "adakv" || policy == "snapkv" || policy == "hbw-kv" ||
                         policy == "twilight-evict" || policy == "chunkkv"
                     ? ",window=8"
                     : "");
            const SyntheticSignals signals{.score = growing_scores(7, 1 << 20), .seed = 7};
            PolicyStream fast(spec, shape, signals);
            SlowStream slow(spec, shape, signals);
            for (const int tokens : {30, 30, 50, 9}) {
                fast.feed(tokens);
                slow.feed(tokens);
                REQUIRE(fast.kept(0, 0).size() == slow.kept(0, 0).size());
            }
            CHECK(fast.kept(3, 1).size() == 119);
            fast.end_prefill();
            slow.end_prefill();
            CHECK(first_difference(fast, slow, shape).empty());
            if (policy != "full") CHECK(fast.kept(0, 0).size() < 119);
            const size_t left = fast.kept(0, 0).size();
            fast.feed_all(60, 1);
            CHECK(fast.kept(0, 0).size() == left + 60);
        }
    }
}
