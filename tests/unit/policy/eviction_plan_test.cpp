// Compares plans with select(): executing a plan with the reference eviction drops the same tokens and leaves the
// same state.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/policy/named/registry.h"
#include "engine/policy/selection/tile_waves.h"
#include "tests/support/catch.h"
#include "tests/unit/policy/by_plan.h"
#include "tests/unit/policy/random_settings.h"

using namespace palimpsest::tests;
using palimpsest::engine::EvictionPlan;
using palimpsest::engine::make_policy;
using palimpsest::engine::Pins;
using palimpsest::engine::Policy;
using palimpsest::engine::PolicySpec;
using palimpsest::engine::TileWaves;
using palimpsest::kernels::SelectRule;

namespace {

using Words = std::vector<uint32_t>;

std::unique_ptr<Policy> policy_of(const std::string& spec, const StreamShape& shape)
{
    return make_policy(PolicySpec::parse(spec), context_of(shape));
}

Words as_words(std::span<const uint32_t> words)
{
    return {words.begin(), words.end()};
}

// Returns the first difference between two streams over the same tokens; empty if there is none.
std::string first_difference(PolicyStream& selected, PolicyStream& planned, const StreamShape& shape)
{
    for (int layer = 0; layer < shape.layers; ++layer)
        for (int head = 0; head < shape.heads; ++head)
            if (selected.evicted(layer, head) != planned.evicted(layer, head))
                return "layer " + std::to_string(layer) + ", head " + std::to_string(head) + ": select drops " +
                       Catch::Detail::stringify(selected.evicted(layer, head)) + ", the plan " +
                       Catch::Detail::stringify(planned.evicted(layer, head));
    if (selected.policy().state() != planned.policy().state()) return "the state differs";
    return "";
}

// Half of the time draws sums from four values only, so that ties occur; with `with_nan`, some sums are NaN.
ScoreEntry random_scores(Dice& dice, uint32_t seed, bool with_nan)
{
    const uint64_t values = dice.from(0, 1) == 0 ? 4 : 1 << 20;
    ScoreEntry scores = dice.from(0, 2) == 0 ? constant_scores(seed, values) : growing_scores(seed, values);
    if (!with_nan) return scores;
    return [scores](int layer, int head, int chunk, uint32_t stream, double& sum, double& count) {
        scores(layer, head, chunk, stream, sum, count);
        if ((stream * 7 + static_cast<uint32_t>(head)) % 5 == 0) sum = std::numeric_limits<double>::quiet_NaN();
    };
}

struct Setting {
    StreamShape shape;
    std::string spec;
};

Setting random_setting(Dice& dice, const std::string& policy, bool with_pins)
{
    Setting out;
    do {
        out.shape = {.layers = dice.from(2, 6), .heads = dice.from(1, 3), .budget = dice.from(1, 60)};
        if (with_pins) out.shape.pins = random_pins(dice, 500);
        out.spec = random_spec(dice, policy, out.shape);
    } while (!is_accepted(out.spec, out.shape));
    return out;
}

// Compares one stream of chunks and single tokens. Returns false if the setting does not plan.
bool compare_once(const std::string& name, uint32_t seed, bool with_pins)
{
    Dice dice(seed);
    const auto [shape, spec] = random_setting(dice, name, with_pins);
    INFO(spec << ", seed " << seed << ", budget " << shape.budget << ", " << shape.layers << " layers, "
              << shape.heads << " heads");
    if (!policy_of(spec, shape)->plans()) return false;
    const bool with_nan = dice.from(0, 3) == 0;
    PolicyStream selected(spec, shape, random_scores(dice, seed, with_nan));
    PolicyStream planned = selected.with(std::make_unique<ByPlan>(policy_of(spec, shape), shape.pins));
    const int end = dice.from(50, 600); // the end of the reading, for schedule=once
    for (int seen = 0; seen < 600;) {
        const int tokens = std::vector<int>{1, 1, 1, 1, 5, 64, 300}[static_cast<size_t>(dice.from(0, 6))];
        selected.feed(tokens);
        planned.feed(tokens);
        seen += tokens;
        std::string difference = first_difference(selected, planned, shape);
        if (difference.empty() && seen >= end && selected.policy().waits_for_end()) {
            selected.end_prefill();
            planned.end_prefill();
            difference = first_difference(selected, planned, shape);
        }
        if (!difference.empty()) FAIL("after " << seen << " tokens, the last " << tokens << ": " << difference);
    }
    return true;
}

// Whether none, some or all of a policy's random settings plan.
enum class Planning { Never, Sometimes, Always };

const std::map<std::string, Planning>& planning_policies()
{
    static const std::map<std::string, Planning> names = {
        {"full", Planning::Always},
        {"quest", Planning::Always},
        {"twilight", Planning::Always},
        {"streaming", Planning::Always},
        {"knorm", Planning::Always},
        {"keydiff", Planning::Always},
        {"lacache", Planning::Always},
        {"treekv-block", Planning::Always},
        {"treekv", Planning::Sometimes},
        {"treekv-log", Planning::Sometimes},
        {"h2o", Planning::Sometimes},
        {"tova", Planning::Sometimes},
        {"snapkv", Planning::Sometimes},
        {"pyramidkv", Planning::Sometimes},
        {"scissorhands", Planning::Sometimes},
        {"random", Planning::Never},
        {"adakv", Planning::Never},
        {"cake", Planning::Never},
        {"chunkkv", Planning::Never},
        {"hbw-kv", Planning::Never},
        {"refreekv", Planning::Never},
        {"twilight-evict", Planning::Never},
    };
    return names;
}

} // namespace

TEST_CASE("plans: executing a policy's plan evicts what its select() evicts, and leaves the same state")
{
    for (const auto& [name, planning] : planning_policies()) {
        DYNAMIC_SECTION(name)
        {
            uint32_t planned = 0;
            const uint32_t settings = draws(100);
            for (uint32_t seed = 1; seed <= settings; ++seed)
                planned += compare_once(name, seed, seed % 2 == 0) ? 1 : 0;
            if (planning == Planning::Never) CHECK(planned == 0);
            if (planning == Planning::Sometimes) CHECK((planned > settings / 6 && planned < settings));
            if (planning == Planning::Always) CHECK(planned == settings);
        }
    }
}

TEST_CASE("plans: some settings keep a policy from planning")
{
    for (const auto& info : palimpsest::engine::policies())
        CHECK(planning_policies().contains(info.name));
    const StreamShape shape{.layers = 4, .heads = 2, .budget = 100};
    for (const auto& [name, planning] : planning_policies()) {
        INFO(name);
        CHECK(policy_of(name, shape)->plans() == (planning != Planning::Never));
    }

    for (const std::string spec :
         {"h2o:budget=pyramid", "h2o:schedule=every:9", "h2o:score=mean", "snapkv:schedule=once",
          "snapkv:pooling=none", "pyramidkv:allocation=geometric", "scissorhands:drop=0.5", "treekv:height=2",
          "treekv:rule=left", "treekv-log:score=last", "treekv-block:rule=left", "lacache:survivors=score",
          "lacache:pattern=old"}) {
        INFO(spec);
        CHECK(policy_of(spec, shape)->plans());
    }
    for (const std::string spec :
         {"h2o:heads=ada", "h2o:budget=auto", "h2o:budget=pyramid,allocation=entropy", "pyramidkv:nested=true",
          "pyramidkv:allocation=gini", "pyramidkv:schedule=every:9", "treekv:heads=ada", "tova:budget=auto",
          "hbw-kv:representative=first"}) {
        INFO(spec);
        CHECK_FALSE(policy_of(spec, shape)->plans());
    }
    StreamShape pinned = shape;
    pinned.pins = Pins({{3, 9}});
    for (const auto& [name, planning] : planning_policies()) {
        INFO(name);
        CHECK(policy_of(name, pinned)->plans() == (planning != Planning::Never));
    }
}

TEST_CASE("plans: eviction tiles of a wave share no place, and tiles that share a place keep their order")
{
    TileWaves waves;
    waves.sort(Words{0, 1, 2, 3, 0, 2, 4, 5, 0, 4, 6, 7}, 2);
    CHECK(as_words(waves.places()) == Words{0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 0, 4});
    CHECK(as_words(waves.ends()) == Words{4, 5, 6});
    waves.sort(Words{4, 5, 9, 0, 1, 2, 1, 3, 6}, 3); // an earlier sort() does not matter
    CHECK(as_words(waves.places()) == Words{4, 5, 9, 0, 1, 2, 1, 3, 6});
    CHECK(as_words(waves.ends()) == Words{2, 3});
    waves.sort({}, 2);
    CHECK(waves.tiles() == 0);
    CHECK(waves.ends().empty());

    Dice dice(5);
    for (int i = 0; i < 300; ++i) {
        const size_t tile = static_cast<size_t>(dice.from(2, 4));
        Words places;
        for (int t = dice.from(1, 40); t > 0; --t) {
            auto place = static_cast<uint32_t>(dice.from(0, 20));
            for (size_t j = 0; j < tile; ++j, place += static_cast<uint32_t>(dice.from(1, 5)))
                places.push_back(place);
        }
        waves.sort(places, tile);
        // Maps each place to its tiles, in order. Sorting must preserve this, because it decides which entries are
        // kept.
        const auto by_place = [tile](std::span<const uint32_t> sorted) {
            std::map<uint32_t, std::vector<Words>> tiles;
            for (; !sorted.empty(); sorted = sorted.subspan(tile))
                for (const uint32_t place : sorted.first(tile))
                    tiles[place].push_back(as_words(sorted.first(tile)));
            return tiles;
        };
        REQUIRE(by_place(waves.places()) == by_place(places));
        uint32_t begin = 0;
        for (const uint32_t wave_end : waves.ends()) {
            Words wave = as_words(waves.places().subspan(begin * tile, (wave_end - begin) * tile));
            std::ranges::sort(wave);
            REQUIRE(std::ranges::adjacent_find(wave) == wave.end());
            begin = wave_end;
        }
        REQUIRE(begin * tile == places.size());
    }
}

namespace {

// Returns the last layer's plan once the lists are full and `tokens` tokens arrive in one chunk.
EvictionPlan plan_after(const std::string& spec, const StreamShape& shape, int tokens)
{
    PolicyStream stream(spec, shape, growing_scores(3, 1 << 20));
    auto policy = std::make_unique<ByPlan>(policy_of(spec, shape), shape.pins);
    const ByPlan& by_plan = *policy;
    PolicyStream planned = stream.with(std::move(policy));
    planned.feed(shape.budget);
    planned.feed(tokens);
    return by_plan.last_plan();
}

constexpr size_t list_words = sizeof(palimpsest::kernels::ListPlan) / sizeof(uint32_t);

} // namespace

TEST_CASE("plans: the lists of a layer share the words of a plan, and a generated token needs few words")
{
    const StreamShape shape{.layers = 2, .heads = 3, .budget = 64};
    const std::map<std::string, size_t> data = {{"streaming", 1},       {"h2o", 0},    {"knorm", 0},
                                                {"snapkv:window=8", 0}, {"treekv", 3}, {"treekv:rule=left", 1},
                                                {"treekv-log", 3}};
    for (const auto& [spec, words] : data) {
        INFO(spec);
        const EvictionPlan plan = plan_after(spec, shape, 1);
        CHECK(plan.words() == 3 * list_words + words);
        for (size_t h = 0; h < 3; ++h)
            CHECK(plan.list(h).evicted == 1);
    }
    CHECK(plan_after("full", shape, 1).words() == 3 * list_words);
    CHECK_FALSE(plan_after("full", shape, 1).evicts_any());

    const EvictionPlan chunk = plan_after("treekv:sinks=0,recent=0", shape, 1000);
    CHECK(chunk.list(0).evicted == 1000);
    CHECK(chunk.list(0).waves == 16); // waves of 64 pairs each, the last one of 40
    CHECK(chunk.words() == 3 * list_words + 2 * 1000 + 16);
    const EvictionPlan blocks = plan_after("treekv-block:unit=4,sinks=3,recent=5", shape, 10);
    CHECK(blocks.list(2).evicted == 12);
    CHECK(blocks.list(2).first == 3);
    CHECK(blocks.words() == 3 * list_words + 2 * 3 + 1);
}

TEST_CASE("plans: a list without slots evicts its oldest candidates, whatever the rule")
{
    // 4 layers share 4 slots so unequally that the last layer gets none.
    const StreamShape shape{.layers = 4, .heads = 2, .budget = 10};
    const std::string spec = "treekv:sinks=2,recent=7,budget=pyramid,allocation=geometric,beta=40";
    const EvictionPlan plan = plan_after(spec, shape, 3);
    CHECK(policy_of(spec, shape)->selection_rule().select == SelectRule::Tiles);
    for (size_t h = 0; h < 2; ++h) {
        CHECK(plan.list(h).given == 1);
        CHECK(plan.list(h).evicted == 3);
    }
}
