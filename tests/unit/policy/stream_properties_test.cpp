// Properties that every policy has for any scores and chunk sizes.
#include <algorithm>
#include <random>

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/policy/random_settings.h"

using namespace palimpsest;
using namespace palimpsest::tests;

namespace {

struct Kind {
    std::string spec;
    int sinks, recent; // entries at either end that must never be evicted
};

constexpr StreamShape shape{.layers = 8, .heads = 2, .budget = 32};

const std::vector<Kind> kinds = {
    {"streaming", 4, 28},
    {"treekv", 4, 12},
    {"treekv:sinks=0,recent=0", 0, 0},
    {"treekv:score=last,recent=5", 4, 5},
    {"treekv:score=sum,height=2", 4, 12},
    {"treekv-log", 4, 12},
    {"treekv-log:recent=27", 4, 27},
    {"treekv:schedule=every:9", 4, 12},
    {"lacache", 4, 8},
    {"lacache:span=4,overlap=2", 4, 8},
    {"lacache:span=1,recent=6", 4, 0},
    {"lacache:span=2,compensate=true", 4, 6},
    {"lacache:pattern=old", 31, 1},
};

// Whether kept[at, at + count) holds the consecutive stream indices from `first` on.
bool holds(const std::vector<uint32_t>& kept, size_t at, uint32_t first, size_t count)
{
    if (at + count > kept.size()) return false;
    for (size_t i = 0; i < count; ++i)
        if (kept[at + i] != first + i) return false;
    return true;
}

// Whether the list begins with the first `sinks` tokens of the stream and ends with its last `recent` tokens.
bool holds_ends(const std::vector<uint32_t>& kept, uint32_t seen, uint32_t sinks, uint32_t recent)
{
    sinks = std::min(seen, sinks);
    recent = std::min(seen, recent);
    return recent <= kept.size() && holds(kept, 0, 0, sinks) &&
           holds(kept, kept.size() - recent, seen - recent, recent);
}

void check_list(PolicyStream& stream, const Kind& kind, int layer, int head, uint32_t seen)
{
    const auto& kept = stream.kept(layer, head);
    CHECK(kept.size() <= static_cast<size_t>(stream.policy().list_budget(layer, head)));
    CHECK(std::is_sorted(kept.begin(), kept.end()));
    CHECK(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
    if (!holds_ends(kept, seen, static_cast<uint32_t>(kind.sinks), static_cast<uint32_t>(kind.recent)))
        FAIL_CHECK("an end is missing: " << Catch::Detail::stringify(kept));
}

std::vector<std::byte> changed(std::vector<std::byte> bytes, size_t at, uint8_t value)
{
    bytes.at(at) = static_cast<std::byte>(value);
    return bytes;
}

void check_refused(engine::Policy& policy, const std::vector<std::byte>& bytes, const std::string& words)
{
    const std::vector<std::byte> before = policy.state();
    try {
        policy.restore(bytes);
        FAIL("restored: " << words);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::Failed);
        CHECK(error.code() == ErrorCode::DamagedPolicyState);
        CHECK_THAT(error.what(), Catch::Contains(words));
    }
    CHECK(policy.state() == before);
}

struct RandomCase {
    StreamShape shape;
    std::string spec;
};

RandomCase random_case(Dice& dice, const std::string& policy)
{
    RandomCase out{.shape = {.layers = dice.from(2, 6), .heads = dice.from(1, 3)}, .spec = {}};
    do {
        out.shape.budget = dice.from(1, 60);
        out.spec = random_spec(dice, policy, out.shape);
    } while (!is_accepted(out.spec, out.shape));
    return out;
}

int parameter(PolicyStream& stream, const std::string& key)
{
    const auto& given = stream.policy().resolved().parameters;
    const auto found = given.find(key);
    return found == given.end() ? 0 : std::stoi(found->second);
}

// Fails if a list has lost a sink or a recent token. Tiles of lacache and blocks of treekv-block may reach into the
// recent ones.
void check_ends(PolicyStream& stream, const StreamShape& wide, const std::string& policy, uint32_t seen)
{
    const bool reaches = policy == "lacache" || policy == "treekv-block";
    const auto sinks = static_cast<uint32_t>(parameter(stream, "sinks"));
    const auto recent = reaches ? 1u : static_cast<uint32_t>(parameter(stream, "recent"));
    for (int layer = 0; layer < wide.layers; ++layer) {
        for (int head = 0; head < wide.heads; ++head) {
            const auto& kept = stream.kept(layer, head);
            REQUIRE(std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()) == kept.end());
            if (!holds_ends(kept, seen, sinks, recent))
                FAIL("an end is missing: " << Catch::Detail::stringify(kept));
            REQUIRE(kept.size() >= std::min(seen, sinks + recent));
        }
    }
}

} // namespace

TEST_CASE("policies: lists stay within the budget and in order, and keep sinks and recent tokens")
{
    for (const Kind& kind : kinds) {
        for (uint32_t seed = 1; seed <= 5; ++seed) {
            std::mt19937 random(seed);
            PolicyStream stream(kind.spec, shape, growing_scores(seed, 50));
            uint32_t seen = 0;
            while (seen < 500) {
                const int tokens = static_cast<int>(1 + random() % (seed == 1 ? 1 : 60));
                stream.feed(tokens);
                seen += static_cast<uint32_t>(tokens);
                CAPTURE(kind.spec, seed, seen);
                for (int layer = 0; layer < shape.layers; ++layer) {
                    for (int head = 0; head < shape.heads; ++head)
                        check_list(stream, kind, layer, head, seen);
                }
            }
        }
    }
}

TEST_CASE("policies: no token of a stream within the budget is evicted")
{
    for (const Kind& kind : kinds) {
        PolicyStream stream(kind.spec, shape, growing_scores(3, 50));
        stream.feed_all(shape.budget, 5);
        CAPTURE(kind.spec);
        for (const auto& kept : stream.all_kept())
            CHECK(kept.size() == static_cast<size_t>(shape.budget));
    }
}

TEST_CASE("policies: schedule=every:N evicts down to the budget once a list exceeds it by N entries")
{
    PolicyStream stream("treekv:schedule=every:9", shape, growing_scores(3, 50));
    CHECK(stream.policy().list_budget(0, 0) == 40);
    stream.feed_all(40, 1);
    CHECK(stream.kept(0, 0).size() == 40);
    stream.feed(1);
    CHECK(stream.kept(0, 0).size() == 32);

    PolicyStream every_one("treekv:schedule=every:1", shape, growing_scores(3, 50));
    PolicyStream chunk("treekv:schedule=chunk", shape, growing_scores(3, 50));
    every_one.feed_all(300, 7);
    chunk.feed_all(300, 7);
    CHECK(every_one.all_kept() == chunk.all_kept());
}

TEST_CASE("lacache: list sizes stay less than the evicted part of a tile below the budget")
{
    const int removed = 3; // span 2 of 8 layers: tiles of 4 keep 1
    PolicyStream stream("lacache:span=2", shape);
    stream.feed(31);
    for (int i = 0; i < 100; ++i) {
        stream.feed(1 + i % 5);
        const auto size = static_cast<int>(stream.kept(i % 8, 0).size());
        CHECK(size > shape.budget - removed);
        CHECK(size <= shape.budget);
    }
    PolicyStream compensated("lacache:span=2,compensate=true", shape);
    CHECK(compensated.policy().list_budget(0, 0) == shape.budget + removed / 2);
}

TEST_CASE("policies: the same stream gives the same lists, also from a clone or a restored state")
{
    for (const Kind& kind : kinds) {
        const ScoreEntry score = growing_scores(9, 20);
        PolicyStream stream(kind.spec, shape, score), again(kind.spec, shape, score);
        for (const int tokens : {20, 30, 1, 1, 17}) {
            stream.feed(tokens);
            again.feed(tokens);
        }
        CAPTURE(kind.spec);
        CHECK(stream.all_kept() == again.all_kept());

        PolicyStream cloned = stream.with(stream.policy().clone());
        auto fresh = PolicyStream(kind.spec, shape).policy().clone();
        fresh->restore(stream.policy().state());
        PolicyStream restored = stream.with(std::move(fresh));
        for (const int tokens : {1, 50, 3, 1, 90}) {
            stream.feed(tokens);
            cloned.feed(tokens);
            restored.feed(tokens);
            CHECK(cloned.all_kept() == stream.all_kept());
            CHECK(restored.all_kept() == stream.all_kept());
        }
        CHECK(restored.policy().state() == stream.policy().state());
        CHECK(restored.policy().resolved() == stream.policy().resolved());
    }
}

TEST_CASE(
    "policies: random settings keep sinks and recent tokens, and continue the same from clones and restored states")
{
    for (const std::string& policy : evicting_policies()) {
        DYNAMIC_SECTION(policy)
        {
            for (uint32_t seed = 1; seed <= draws(60); ++seed) {
                Dice dice(seed);
                const RandomCase random = random_case(dice, policy);
                const SyntheticSignals signals{.score = growing_scores(seed, 1 << 20), .seed = seed};
                PolicyStream stream(random.spec, random.shape, signals);
                const int longest = dice.from(0, 1) == 0 ? 2 : 50;
                uint32_t seen = 0;
                const auto grow = [&](std::initializer_list<PolicyStream*> streams) {
                    const int tokens = dice.from(1, longest);
                    for (PolicyStream* one : streams)
                        one->feed(tokens);
                    seen += static_cast<uint32_t>(tokens);
                };
                INFO(random.spec << ", seed " << seed << ", budget " << random.shape.budget);
                while (seen < 150) {
                    grow({&stream});
                    check_ends(stream, random.shape, policy, seen);
                }
                if (stream.policy().waits_for_end() && dice.from(0, 1) == 0) stream.end_prefill();
                check_ends(stream, random.shape, policy, seen);
                PolicyStream cloned = stream.with(stream.policy().clone());
                auto fresh = engine::make_policy(stream.policy().resolved(), context_of(random.shape));
                fresh->restore(stream.policy().state());
                PolicyStream restored = stream.with(std::move(fresh));
                while (seen < 250) {
                    grow({&stream, &cloned, &restored});
                    REQUIRE(cloned.all_kept() == stream.all_kept());
                    REQUIRE(restored.all_kept() == stream.all_kept());
                }
                for (PolicyStream* one : {&stream, &cloned, &restored})
                    if (one->policy().waits_for_end()) one->end_prefill();
                check_ends(stream, random.shape, policy, seen);
                REQUIRE(cloned.all_kept() == stream.all_kept());
                REQUIRE(restored.all_kept() == stream.all_kept());
                CHECK(restored.policy().state() == stream.policy().state());
            }
        }
    }
}

TEST_CASE("policies: any setting is accepted, or refused with a message")
{
    const std::vector<std::string> values = {
        "0",          "1",    "2",       "3",     "7",     "16",   "31",      "33",  "-1",   "1000000",
        "2147483647", "0.5",  "1e300",   "nan",   "inf",   "0.0",  "none",    "avg", "max",  "sum",
        "5%",         "left", "true",    "false", "ada",   "auto", "entropy", "0%",  "200%", "pyramid",
        "once",       "1+8",  "every:5", "8+",    "score", "even", "gini",    "old", "first"};
    int taken = 0, refused = 0;
    for (uint32_t seed = 1; seed <= 50 * draws(60); ++seed) {
        Dice dice(seed);
        const RandomCase valid = random_case(dice, dice.one_of(evicting_policies()));
        engine::PolicySpec spec = engine::PolicySpec::parse(valid.spec);
        for (auto& [key, value] : spec.parameters)
            if (dice.from(0, 2) == 0) value = dice.one_of(values);
        CAPTURE(spec.text(), valid.shape.layers, valid.shape.heads, valid.shape.budget);
        try {
            PolicyStream stream(spec.text(), valid.shape, SyntheticSignals{.score = growing_scores(seed, 50)});
            ++taken;
            for (const int tokens : {5, 1, 60, 1, 2})
                stream.feed(tokens);
        } catch (const Error& error) {
            ++refused;
            REQUIRE(error.kind() == ErrorKind::Usage);
            REQUIRE_FALSE(error.remedy().empty());
        }
    }
    CHECK(taken > static_cast<int>(5 * draws(60)));
    CHECK(refused > static_cast<int>(5 * draws(60)));
}

TEST_CASE("policies: states that do not fit are refused and change nothing")
{
    for (const std::string spec : {"streaming", "treekv", "treekv:height=2", "treekv-log", "lacache"}) {
        PolicyStream stream(spec, shape, growing_scores(9, 20));
        stream.feed_all(333, 10);
        engine::Policy& policy = stream.policy();
        const std::vector<std::byte> state = policy.state();
        CAPTURE(spec);
        check_refused(policy, changed(state, 0, 2), "'version' is 2 where 1 to 1");
        check_refused(policy, changed(state, 4, 7), "'number of layers' is 7 where 8 to 8");
        for (size_t size = 0; size < state.size(); ++size) {
            check_refused(policy, {state.begin(), state.begin() + static_cast<std::ptrdiff_t>(size)},
                          "ends inside");
        }
        std::vector<std::byte> longer = state;
        longer.push_back(std::byte{0});
        check_refused(policy, longer, "it has 1 bytes after its end");
    }
}

TEST_CASE("policies: damaged states of every policy are refused and change nothing")
{
    for (const std::string& policy : evicting_policies()) {
        const StreamShape wide{.layers = 4, .heads = 2, .budget = 48};
        for (const std::string more : {"", ":schedule=every:3"}) {
            PolicyStream stream(policy + more, wide, SyntheticSignals{.score = growing_scores(9, 20)});
            stream.feed_all(200, 40);
            engine::Policy& own = stream.policy();
            const std::vector<std::byte> state = own.state();
            CAPTURE(policy, more);
            check_refused(own, changed(state, 0, 99), "'version' is 99");
            check_refused(own, changed(state, 4, 7), "'number of layers' is 7 where 4 to 4");
            for (size_t size = 0; size < state.size(); ++size)
                check_refused(own, {state.begin(), state.begin() + static_cast<std::ptrdiff_t>(size)},
                              "ends inside");
            std::vector<std::byte> longer = state;
            longer.push_back(std::byte{0});
            check_refused(own, longer, "it has 1 bytes after its end");
        }
    }
}

TEST_CASE("policies: state values outside their range are refused")
{
    // The budget of 32 consists of 4 sinks, 16 slots and 12 recent tokens.
    PolicyStream tree("treekv", shape), limited("treekv:height=2", shape), log("treekv-log", shape);
    check_refused(tree.policy(), changed(tree.policy().state(), 8, 17), "'cursor' is 17 where 0 to 16");
    check_refused(limited.policy(), changed(limited.policy().state(), 8, 16), "'cursor' is 16 where 0 to 15");
    auto heights = limited.policy().state();
    for (size_t i = 12; i < 16; ++i)
        heights[i] = std::byte{0xFF};
    check_refused(limited.policy(), heights, "'height' is 4294967295");

    // After an eviction the state holds per layer the number of levels, then for each level its number and entries.
    log.feed_all(33, 33);
    const auto merged = log.policy().state();
    check_refused(log.policy(), changed(merged, 8, 17), "'number of levels' is 17 where 0 to 16");
    check_refused(log.policy(), changed(merged, 16, 17), "'entries of a level' is 17 where 1 to 16");
    check_refused(log.policy(), changed(merged, 20, 1), "'level' is 1 where 0 to 0");
    check_refused(log.policy(), changed(merged, 24, 16), "'entries of a level' is 16 where 1 to 15");
}
