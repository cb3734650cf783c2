// Properties of sessions under every named policy, and under settings that change how lists, signals or layers are
// combined.
#include <algorithm>

#include "engine/policy/named/registry.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/test_level.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t budget = 72, chunk = 24, context = 1024;

std::vector<std::string> policies_and_settings()
{
    std::vector<std::string> all = {"pyramidkv:allocation=entropy",
                                    "pyramidkv:allocation=gini",
                                    "pyramidkv:allocation=sparsity",
                                    "pyramidkv:nested=true",
                                    "hbw-kv:representative=avg",
                                    "hbw-kv:renormalise=true",
                                    "refreekv:rows=20%,ranking=score",
                                    "cake:schedule=every:9",
                                    "adakv:schedule=every:30",
                                    "snapkv:schedule=once",
                                    "cake:schedule=once",
                                    "adakv:schedule=once",
                                    "quest:page=4",
                                    "twilight:page=4,skip_layers=1"};
    for (const PolicyInfo& info : policies())
        all.push_back(info.name);
    return all;
}

// Those that run on the model with this index: all, but at the CI level each on one of the models.
std::vector<std::string> policies_for(size_t model)
{
    std::vector<std::string> all = policies_and_settings(), taken;
    for (size_t i = 0; i < all.size(); ++i)
        if (runs_here(i + model, shapes_of_families(context).size())) taken.push_back(all[i]);
    return taken;
}

SessionOptions options_for(const std::string& policy, PositionMode positions)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = policy == "full" ? context : budget;
    options.chunk = chunk;
    options.positions = positions;
    return options;
}

void shorten(ListAtRest& list)
{
    const size_t n = list.tokens.size();
    list.keys.resize(list.keys.size() / n * (n - 1));
    list.values.resize(list.values.size() / n * (n - 1));
    list.tokens.truncate(n - 1);
}

int64_t held(const Session& session)
{
    return session.telemetry().slots_used;
}

} // namespace

TEST_CASE("under every policy a session continues bit for bit from a state and from a fork")
{
    const auto shapes = shapes_of_families(context);
    const size_t number = GENERATE_COPY(range(size_t{0}, shapes.size()));
    const RandomModelShape& shape = shapes[number];
    CAPTURE(shape.architecture, shape.window);
    const auto model = load_random(shape);
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(330);
    for (const std::string& policy : policies_for(number)) {
        CAPTURE(policy);
        const SessionOptions options = options_for(policy, positions);
        Session whole(model, options), asked(model, options);
        whole.feed(text);
        asked.feed(std::span(text).first(100));
        const auto on = Session::restore(model, asked.state());
        for (Session* session : {&asked, on.get()})
            session->feed(std::span(text).subspan(100));
        const Outcome expected = outcome_of(whole);
        CHECK(outcome_of(asked) == expected); // state() changed nothing
        CHECK(outcome_of(*on) == expected);
        const auto again = Session::restore(model, on->state()); // in the middle of an answer
        const auto fork = on->fork();
        for (Session* session : {on.get(), again.get(), fork.get()})
            session->feed(std::span(text).first(50));
        const Outcome later = outcome_of(*on, 40);
        CHECK(outcome_of(*again, 40) == later);
        CHECK(outcome_of(*fork, 40) == later);
    }
}

TEST_CASE(
    "under every policy a state with rounded rows is what a session goes on from, and leaves the saved one alone")
{
    const auto shapes = shapes_of_families(context);
    const size_t number = GENERATE_COPY(range(size_t{0}, shapes.size()));
    const RandomModelShape& shape = shapes[number];
    CAPTURE(shape.architecture, shape.window);
    const auto model = load_random(shape);
    const auto text = random_text(330);
    const RowRounding coarse = [](std::span<std::byte> rows) { // f16 with three significant bits
        for (size_t i = 0; i < rows.size(); i += 2)
            rows[i] = std::byte{0};
    };
    for (const std::string& policy : policies_for(number)) {
        CAPTURE(policy);
        const SessionOptions options = options_for(policy, PositionMode::Contiguous);
        Session whole(model, options), saved(model, options);
        whole.feed(std::span(text).first(200));
        saved.feed(std::span(text).first(200));
        CHECK(outcome_of(saved, 9) == outcome_of(whole, 9)); // rows are scattered now
        const SessionState exact = saved.state(), rounded = saved.state(coarse);
        CHECK(rounded.integrity_check != exact.integrity_check);
        for (const ListAtRest& list : rounded.lists)
            for (size_t i = 0; i < list.keys.size(); i += 2)
                if (list.keys[i] != std::byte{0} || list.values[i] != std::byte{0}) FAIL("element " << i);
        const auto on = Session::restore(model, rounded);
        CHECK((on->state(coarse).lists.front().keys == rounded.lists.front().keys));
        CHECK(on->state().integrity_check == rounded.integrity_check);
        for (Session* session : {&whole, &saved})
            session->feed(std::span(text).subspan(200));
        CHECK(outcome_of(saved) == outcome_of(whole)); // state() changed nothing
    }
}

TEST_CASE("stops within a chunk, cuts of the input and the number of threads change no bit under any policy")
{
    const auto shapes = shapes_of_families(context);
    const size_t number = GENERATE_COPY(range(size_t{0}, shapes.size()));
    const RandomModelShape& shape = shapes[number];
    CAPTURE(shape.architecture, shape.window);
    const auto model = load_random(shape), alone = load_random(shape, 1);
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(250);
    for (const std::string& policy : policies_for(number)) {
        CAPTURE(policy);
        SessionOptions options = options_for(policy, positions);
        options.stops_within_chunk = false;
        Session whole(model, options);
        options.rows_at_once = 1;
        Session single(alone, options);
        options.stops_within_chunk = true;
        Session within(model, options);
        whole.feed(text);
        within.feed(text);
        for (size_t at = 0; at < text.size(); at += 10)
            single.feed(std::span(text).subspan(at, std::min<size_t>(10, text.size() - at)));
        const Outcome expected = outcome_of(whole);
        CHECK(outcome_of(within) == expected);
        CHECK(outcome_of(single) == expected);
    }
}

TEST_CASE("under no policy a list exceeds its limit, and memory does not grow")
{
    const auto shapes = shapes_of_families(context);
    const size_t number = GENERATE_COPY(range(size_t{0}, shapes.size()));
    const RandomModelShape& shape = shapes[number];
    CAPTURE(shape.architecture, shape.window);
    const auto model = load_random(shape);
    for (const std::string& name : policies_for(number)) {
        CAPTURE(name);
        Session session(model, options_for(name, PositionMode::Contiguous));
        const Policy& policy = session.policy();
        if (!policy.bounded()) continue;
        uint64_t allocated = 0;
        for (uint64_t round = 0; round < 30; ++round) {
            session.feed(random_text(40, round));
            say(session, 5);
            const RetentionMap map = session.retention();
            for (int32_t l = 0; l < map.layers; ++l)
                for (int32_t h = 0; h < map.kv_heads; ++h) {
                    const auto& kept = map.of(l, h);
                    REQUIRE(static_cast<int32_t>(kept.size()) <= policy.list_budget(l, h));
                    REQUIRE(std::is_sorted(kept.begin(), kept.end()));
                }
            REQUIRE(held(session) <= policy.total_budget());
            const uint64_t bytes = session.telemetry().cache_bytes;
            if (round == 10) allocated = bytes;
            if (round > 10) REQUIRE(bytes <= allocated + 4096); // lists of dropped ranks may grow
        }
    }
}

TEST_CASE("retrieval policies read all of a short list and a part of a long one")
{
    const auto shapes = shapes_of_families(context);
    const size_t number = GENERATE_COPY(range(size_t{0}, shapes.size()));
    const RandomModelShape& shape = shapes[number];
    CAPTURE(shape.architecture, shape.window);
    const auto model = load_random(shape);
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(300);
    Session full(model, options_for("full", positions));
    full.feed(text);
    const Outcome expected = outcome_of(full, 40);
    for (const std::string policy : {"quest:page=8", "quest:page=3,skip_layers=1"}) {
        CAPTURE(policy);
        SessionOptions options = options_for(policy, positions);
        options.budget = 340;
        Session all(model, options);
        options.budget = 30;
        Session parts(model, options);
        for (Session* session : {&all, &parts})
            session->feed(text);
        CHECK(outcome_of(all, 40) == expected);
        const Outcome read = outcome_of(parts, 40);
        CHECK(read.logits == expected.logits); // prefill attends to everything
        CHECK(read.kept_after == expected.kept_after);
        CHECK(read.logits_after != expected.logits_after);
    }
}

TEST_CASE("pins can be added, removed and saved under every policy")
{
    const auto shapes = shapes_of_families(context);
    const size_t number = GENERATE_COPY(range(size_t{0}, shapes.size()));
    const RandomModelShape& shape = shapes[number];
    CAPTURE(shape.architecture, shape.window);
    const auto model = load_random(shape);
    const auto text = random_text(400);
    for (const std::string& policy : policies_for(number)) {
        CAPTURE(policy);
        const auto start = [&] {
            auto session = std::make_unique<Session>(model, options_for(policy, PositionMode::Contiguous));
            session->feed(std::span(text).first(200));
            session->set_pins(Pins({{180, 192}}));
            return session;
        };
        const auto whole = start(), saved = start();
        const auto on = Session::restore(model, saved->state());
        CHECK(on->retention().tokens == saved->retention().tokens);
        for (Session* session : {whole.get(), on.get()}) {
            session->feed(std::span(text).subspan(200, 96));
            session->set_pins(Pins({{180, 192}, {250, 260}}));
            session->feed(std::span(text).subspan(296, 30));
            session->set_pins({});
        }
        CHECK(whole->held({180, 192}) == on->held({180, 192}));
        const auto later = Session::restore(model, on->state());
        for (Session* session : {whole.get(), on.get(), later.get()})
            session->feed(std::span(text).subspan(326));
        const Outcome expected = outcome_of(*whole);
        CHECK(outcome_of(*on) == expected);
        CHECK(outcome_of(*later) == expected);
        if (whole->policy().bounded()) CHECK(held(*whole) <= whole->policy().total_budget());
    }
}

TEST_CASE("a shorter list is refused by policies whose lists have equal lengths")
{
    const auto model = load_random({.context = context});
    for (const std::string policy : {"treekv:budget=pyramid,schedule=every:2", "refreekv", "tova", "h2o"}) {
        CAPTURE(policy);
        Session session(model, options_for(policy, PositionMode::Contiguous));
        session.feed(random_text(200));
        const SessionState good = session.state();
        CHECK_NOTHROW(Session::restore(model, good));
        for (const size_t list : {0, 1, 5}) {
            SessionState bad = good;
            shorten(bad.lists[list]);
            CHECK_THROWS_WITH(Session::restore(model, bad),
                              Catch::Contains("PAL-SNAP-02") && Catch::Contains("differ in length"));
        }
    }
    Session ragged(model, options_for("adakv", PositionMode::Contiguous)); // allows lists of different lengths
    ragged.feed(random_text(200));
    const SessionState state = ragged.state();
    CHECK(state.lists[2].tokens.size() != state.lists[3].tokens.size());
    CHECK_NOTHROW(Session::restore(model, state));
}

TEST_CASE("a list with other tokens is refused by policies whose lists hold the same tokens")
{
    const auto model = load_random({.context = context});
    for (const std::string policy : {"tova", "refreekv", "h2o"}) {
        CAPTURE(policy);
        Session session(model, options_for(policy, PositionMode::Contiguous));
        session.feed(random_text(200));
        session.set_pins(Pins({{150, 190}}));
        SessionState state = session.state();
        CHECK_NOTHROW(Session::restore(model, state)); // heads of h2o may hold different pins
        if (policy == "h2o") continue;
        auto& stream = state.lists[1].tokens.stream;
        for (size_t i = 0; i < stream.size(); ++i)
            stream[i] = static_cast<uint32_t>(i);
        CHECK_THROWS_WITH(Session::restore(model, state),
                          Catch::Contains("PAL-SNAP-02") && Catch::Contains("hold different tokens"));
    }
}

TEST_CASE("pins that change after a reading has ended cause no second eviction")
{
    const auto model = load_random({.context = context});
    for (const std::string policy : {"snapkv:schedule=once", "adakv:schedule=once"}) {
        CAPTURE(policy);
        Session session(model, options_for(policy, PositionMode::Contiguous));
        session.feed(random_text(200));
        session.finish();
        REQUIRE(held(session) == 8 * budget);
        session.set_pins(Pins({{180, 190}}));
        CHECK_FALSE(session.policy().waits_for_end());
        session.feed(random_text(50));
        say(session, 20);
        CHECK(held(session) == 8 * (budget + 70));
        const auto restored = Session::restore(model, session.state());
        restored->feed(random_text(10));
        restored->finish();
        CHECK(held(*restored) == 8 * (budget + 80));

        Session reading(model, options_for(policy, PositionMode::Contiguous));
        reading.feed(random_text(200));
        reading.set_pins(Pins({{180, 190}})); // the reading has not ended yet
        CHECK(reading.policy().waits_for_end());
        reading.finish();
        CHECK(held(reading) == 8 * budget);
    }
}

TEST_CASE("a policy whose lists are full says why, and what to do about it")
{
    const auto model = load_random({.context = 128});
    const auto says = [&](const std::string& policy, int32_t tokens, const std::string& reason,
                          const std::string& remedy) {
        CAPTURE(policy);
        SessionOptions options = options_for(policy, PositionMode::Contiguous);
        options.budget = tokens;
        Session session(model, options);
        session.feed(random_text(120));
        CHECK_THROWS_WITH(session.feed(random_text(24)),
                          Catch::Contains("PAL-BUDGET-02") && Catch::Contains(reason) && Catch::Contains(remedy));
    };
    says("snapkv:schedule=once", 40, "before the end of the text", "leave schedule=once out");
    says("refreekv", no_budget, "without a budget", "set budget to a number");
    says("full", 0, "it keeps every token", "use a policy with a budget");
    says("full", no_budget, "it keeps every token", "use a policy with a budget");
    says("quest", 40, "it keeps every token", "use a policy with a budget");
}

TEST_CASE("a question, a chunk or a schedule that exceeds the context is named in the error")
{
    const auto model = load_random({.context = 128});
    SessionOptions options = options_for("tova", PositionMode::Contiguous);
    options.budget = 0;
    options.question_room = 104;
    CHECK_THROWS_WITH(Session(model, options), Catch::Contains("PAL-BUDGET-01") &&
                                                   Catch::Contains("a question of 104 tokens") &&
                                                   Catch::Contains("ask a shorter question"));
    options.question_room = 103;
    CHECK_NOTHROW(Session(model, options));
    options.chunk = 128;
    CHECK_THROWS_WITH(Session(model, options),
                      Catch::Contains("a chunk of 128 leaves no room") && !Catch::Contains("question"));
    options = options_for("streaming:schedule=every:40", PositionMode::Contiguous);
    CHECK_THROWS_WITH(Session(model, options), Catch::Contains("PAL-BUDGET-01") &&
                                                   Catch::Contains("under schedule=every:40 need 135") &&
                                                   Catch::Contains("a smaller N in schedule=every:N"));
    options.policy = PolicySpec::parse("streaming:schedule=every:33");
    CHECK_NOTHROW(Session(model, options));
}

TEST_CASE("with the default budget the longest list and a chunk fit the context")
{
    const auto model = load_random({.layers = 8, .context = 500});
    for (const std::string& policy : policies_and_settings()) {
        CAPTURE(policy);
        SessionOptions options = options_for(policy, PositionMode::Contiguous);
        options.budget = 0;
        const Session session(model, options);
        int32_t longest = 0;
        for (int32_t l = 0; l < 8; ++l)
            longest = std::max(longest, session.policy().list_budget(l, 0));
        if (!session.policy().bounded()) continue;
        CHECK(longest + chunk <= 500);
        options.budget = session.options().budget + 1;
        if (session.options().budget < 500 - chunk)
            CHECK_THROWS_WITH(Session(model, options), Catch::Contains("PAL-"));
    }
    SessionOptions pyramid = options_for("pyramidkv", PositionMode::Contiguous);
    pyramid.budget = 0;
    const Session session(model, pyramid);
    CHECK(session.options().budget < 476);
    CHECK(session.options().budget > 200);
}
