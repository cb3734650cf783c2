// What holds for a session of every policy by name, with the settings that change how lists, signals or layers come
// together.
#include <algorithm>

#include "engine/policy/registry.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
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
                                    "quest:page=4",
                                    "twilight:page=4,skip_layers=1"};
    for (const PolicyInfo& info : policies())
        all.push_back(info.name);
    return all;
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

int64_t held(const Session& session)
{
    return session.telemetry().slots_used;
}

} // namespace

TEST_CASE("every policy goes on from a state and a fork bit for bit")
{
    const auto model = load_random({.context = context});
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(330);
    for (const std::string& policy : policies_and_settings()) {
        CAPTURE(policy);
        const SessionOptions options = options_for(policy, positions);
        Session whole(model, options), asked(model, options);
        whole.feed(text);
        asked.feed(std::span(text).first(100));
        const auto on = Session::restore(model, asked.state());
        for (Session* session : {&asked, on.get()})
            session->feed(std::span(text).subspan(100));
        const Outcome expected = outcome_of(whole);
        CHECK(outcome_of(asked) == expected); // asking for the state has changed nothing
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

TEST_CASE("how a chunk can be stopped, the input is cut and threads share the work changes no bit of any policy")
{
    const auto model = load_random({.context = context}), alone = load_random({.context = context}, 1);
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(250);
    for (const std::string& policy : policies_and_settings()) {
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

TEST_CASE("no policy ever holds more than it says, and memory does not grow")
{
    const auto model = load_random({.context = context});
    for (const std::string& name : policies_and_settings()) {
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
            if (round > 10) REQUIRE(bytes <= allocated + 4096); // lists of what leaves may grow
        }
    }
}

TEST_CASE("policies that retrieve read all of a short list and parts of a long one")
{
    const auto model = load_random({.context = context});
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
        CHECK(read.logits == expected.logits); // reading is dense
        CHECK(read.kept_after == expected.kept_after);
        CHECK(read.logits_after != expected.logits_after);
    }
}

TEST_CASE("pins may come, go and be saved under every policy")
{
    const auto model = load_random({.context = context});
    const auto text = random_text(400);
    for (const std::string& policy : policies_and_settings()) {
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

TEST_CASE("a default budget is one whose longest list fits beside a chunk")
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
