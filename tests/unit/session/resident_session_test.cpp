// A session with a device-resident cache gives the same bits and eviction events as one whose host evicts.
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "engine/policy/named/registry.h"
#include "tests/support/catch.h"
#include "tests/support/selecting_backend.h"
#include "tests/support/test_level.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t budget = 72, chunk = 24;

struct Models {
    SelectingBackendUse use;
    std::shared_ptr<const Model> host, resident;

    explicit Models(const RandomModelShape& shape = {})
    {
        const auto path = random_model(shape);
        host = Model::load(path, kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
        resident = Model::load(path, open_selecting_backend(2, use));
        std::filesystem::remove(path);
    }
};

// Every policy, and settings that change how lists are combined, whether they plan or not.
std::vector<std::string> policy_settings()
{
    std::vector<std::string> all = {"treekv:rule=left",
                                    "treekv:score=last",
                                    "treekv:score=sum,recent=0,sinks=0",
                                    "treekv:height=2",
                                    "treekv-log:rule=left",
                                    "treekv-block:unit=4",
                                    "treekv-block:rule=left",
                                    "lacache:survivors=score",
                                    "lacache:pattern=ladder",
                                    "snapkv:pooling=max,kernel=3",
                                    "snapkv:pooling=none",
                                    "h2o:recent=0",
                                    "scissorhands:drop=0.2",
                                    "snapkv:schedule=every:7",
                                    "treekv:schedule=every:40",
                                    "h2o:schedule=once",
                                    "pyramidkv:allocation=entropy",
                                    "adakv:schedule=every:30",
                                    "quest:page=4",
                                    "twilight:page=4,skip_layers=1"};
    for (const PolicyInfo& info : policies())
        all.push_back(info.name);
    return all;
}

SessionOptions options_for(const std::string& policy, PositionMode positions = PositionMode::Contiguous)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = policy == "full" ? 1024 : budget;
    options.chunk = chunk;
    options.rows_at_once = 3 * chunk;
    options.positions = positions;
    return options;
}

bool plans(const Session& session)
{
    return session.policy().plans();
}

struct Reported {
    std::vector<std::array<int64_t, 3>> faded;
    Outcome outcome;
    std::vector<std::byte> policy_state;
    std::vector<std::vector<double>> sums, counts;
    uint64_t evicted = 0;
    bool operator==(const Reported&) const = default;
};

// Uses a session in all ways: feeds text, generates tokens, feeds text again, ends with an incomplete chunk.
Reported live(Session& session)
{
    Reported reported;
    session.set_eviction_sink([&](std::span<const EvictionEvent> events) {
        for (const EvictionEvent& e : events)
            reported.faded.push_back({e.chunk, e.layer, e.token});
    });
    session.feed(random_text(200, 3));
    say(session, 40);
    session.feed(random_text(130, 4));
    session.finish();
    say(session, 20);
    const SessionState state = session.state();
    reported.policy_state = state.policy_state;
    for (const ListAtRest& list : state.lists) {
        reported.sums.push_back(list.tokens.sum);
        reported.counts.push_back(list.tokens.count);
    }
    reported.outcome = outcome_of(session);
    reported.evicted = session.telemetry().evicted;
    session.set_eviction_sink({});
    std::sort(reported.faded.begin(), reported.faded.end()); // the host reports events layer by layer
    return reported;
}

} // namespace

TEST_CASE("a session whose backend evicts gives the same bits as one whose host evicts", "[resident]")
{
    const auto shapes = shapes_of_families(4096);
    const size_t number = GENERATE_COPY(range(size_t{0}, shapes.size()));
    const RandomModelShape& shape = shapes[number];
    CAPTURE(shape.architecture, shape.window);
    Models models(shape);
    size_t index = number;
    for (const std::string& policy : policy_settings()) {
        if (!runs_here(index++, shapes.size())) continue;
        for (const auto positions : {PositionMode::Contiguous, PositionMode::Original}) {
            const bool pinned = positions == PositionMode::Original;
            CAPTURE(policy, pinned);
            SessionOptions options = options_for(policy, positions);
            // Pins in the first text and across its chunks, in an answer, and in a later text.
            if (pinned) options.pins = Pins({{3, 9}, {70, 75}, {210, 212}, {300, 306}});
            Session host(models.host, options);
            Session resident(models.resident, options);
            const SelectingBackendUse before = models.use;
            const Reported expected = live(host), reported = live(resident);
            CHECK(reported.outcome.kept == expected.outcome.kept);
            CHECK(reported.faded == expected.faded);
            CHECK(reported == expected);
            const bool evicts = models.use.evictions > before.evictions;
            CHECK(evicts == plans(resident));
            if (!plans(resident)) continue;
            CHECK(models.use.host_evictions == before.host_evictions);
            CHECK(models.use.replayed > before.replayed + 40);
        }
    }
}

TEST_CASE("a session with a device-resident cache stops within and between chunks as any other", "[resident]")
{
    Models models;
    for (const std::string policy : {"treekv", "h2o", "streaming"}) {
        CAPTURE(policy);
        Reported reported[2];
        const std::shared_ptr<const Model> of[] = {models.host, models.resident};
        for (size_t i = 0; i < 2; ++i) {
            SessionOptions options = options_for(policy);
            options.stops_within_chunk = true;
            Session session(of[i], options);
            session.feed(random_text(100, 3));
            std::stop_source stop;
            const auto progress = [&](const Telemetry& t) {
                if (t.tokens_seen >= 150) stop.request_stop();
            };
            CHECK_FALSE(
                session.feed(random_text(300, 4), {.stop = stop.get_token(), .progress = progress, .loss = {}}));
            reported[i] = live(session);
        }
        CHECK(reported[0] == reported[1]);
    }
}

TEST_CASE("an exception of the eviction sink in an answer loses no token of a device-resident cache", "[resident]")
{
    Models models;
    Session session(models.resident, options_for("treekv")), other(models.resident, options_for("treekv"));
    for (Session* s : {&session, &other}) {
        s->feed(random_text(200, 3));
        say(*s, 10);
    }
    bool full = true;
    session.set_eviction_sink([&](std::span<const EvictionEvent>) {
        session.retention(); // inside the sink it shows that step, and changes nothing
        if (std::exchange(full, false)) throw std::runtime_error("disk full");
    });
    CHECK_THROWS_AS(say(session, 40), std::runtime_error);
    session.set_eviction_sink({});
    const auto text = random_text(64, 5);
    const auto seen = static_cast<int32_t>(session.tokens_seen() - other.tokens_seen());
    say(other, seen);
    CHECK(session.retention().tokens == other.retention().tokens);
    session.feed(text);
    other.feed(text);
    CHECK(outcome_of(session) == outcome_of(other));
}

TEST_CASE("an exception of the eviction sink while a text is read loses no token", "[resident]")
{
    Models models;
    Session session(models.resident, options_for("treekv")), other(models.resident, options_for("treekv"));
    for (Session* s : {&session, &other})
        s->feed(random_text(8 * chunk, 3));
    bool full = true;
    session.set_eviction_sink([&](std::span<const EvictionEvent>) {
        if (std::exchange(full, false)) throw std::runtime_error("disk full");
    });
    const auto text = random_text(12 * chunk, 4);
    CHECK_THROWS_AS(session.feed(text), std::runtime_error);
    session.set_eviction_sink({});
    const auto seen = static_cast<size_t>(session.tokens_seen() - other.tokens_seen());
    CHECK(seen > 0);
    other.feed(std::span(text).first(seen));
    CHECK(outcome_of(session) == outcome_of(other));
}

TEST_CASE("a device-resident cache is synchronised once per super-chunk and once per token", "[resident]")
{
    Models models;
    Session session(models.resident, options_for("treekv"));
    session.feed(random_text(10 * chunk, 3));
    say(session, 80);
    session.logits();
    int64_t before = models.use.downloads;
    session.feed(random_text(6 * chunk, 5));
    CHECK(models.use.downloads - before == 1 + 2); // the drops of the last token, and two super-chunks
    session.logits();
    before = models.use.downloads;
    say(session, 50);
    session.logits();
    CHECK(models.use.downloads - before == 50);
}

TEST_CASE("a graph recording that the backend refuses is recorded again", "[resident]")
{
    Models models;
    Session host(models.host, options_for("treekv-log"));
    Session resident(models.resident, options_for("treekv-log"));
    for (Session* session : {&host, &resident})
        session->feed(random_text(200, 3));
    for (int turn = 0; turn < 6; ++turn) {
        models.use.refuse_replays = turn % 2 == 1;
        CHECK(say(host, 7) == say(resident, 7));
        CHECK(host.logits() == resident.logits());
    }
    CHECK(host.retention().tokens == resident.retention().tokens);
    CHECK(models.use.refused > 3);
    CHECK(models.use.recorded > 3);
}

TEST_CASE("a device-resident cache gives the same bits after a fork, a restore, with pins and with question rows",
          "[resident]")
{
    Models models;
    for (const std::string policy : {"treekv", "h2o", "tova", "snapkv", "scissorhands", "lacache", "quest",
                                     "pyramidkv", "h2o:budget=pyramid"}) {
        CAPTURE(policy);
        Session host(models.host, options_for(policy));
        Session resident(models.resident, options_for(policy));
        std::vector<std::unique_ptr<Session>> others;
        Outcome outcomes[2];
        Session* both[] = {&host, &resident};
        for (size_t i = 0; i < 2; ++i) {
            Session& session = *both[i];
            session.set_question_ids(random_text(9, 8));
            session.feed(random_text(170, 3));
            say(session, 11);
            auto fork = session.fork();
            say(*fork, 30);
            fork->feed(random_text(100, 9));
            auto restored = Session::restore(i == 0 ? models.host : models.resident, fork->state());
            if (policy != "quest") restored->set_pins(Pins({{3, 9}, {150, 160}}));
            restored->feed(random_text(90, 10));
            say(*restored, 5); // from the second token on by replaying the graph recording
            if (policy != "quest") restored->set_pins(Pins({{3, 9}, {370, 378}}));
            say(*restored, 12);
            restored->set_question_ids(random_text(7, 5));
            auto pinned = restored->fork();
            pinned->feed(random_text(90, 11));
            say(*pinned, 12);
            restored->set_pins(Pins());
            say(*restored, 5);
            restored->feed(random_text(90, 11));
            session.feed(random_text(60, 12));
            outcomes[i] = outcome_of(*restored);
            const Outcome beside_pins = outcome_of(*pinned);
            outcomes[i].kept.insert(outcomes[i].kept.end(), beside_pins.kept.begin(), beside_pins.kept.end());
            const Outcome own = outcome_of(session);
            outcomes[i].kept.insert(outcomes[i].kept.end(), own.kept_after.begin(), own.kept_after.end());
            outcomes[i].logits.insert(outcomes[i].logits.end(), own.logits_after.begin(), own.logits_after.end());
        }
        CHECK(outcomes[0] == outcomes[1]);
    }
}

TEST_CASE("an observer sees the same selections with a device-resident cache", "[resident]")
{
    Models models;
    struct Seen {
        std::vector<std::array<int64_t, 3>> steps;
        std::vector<int32_t> rows;
        std::vector<std::vector<uint32_t>> streams, dropped;
        std::vector<std::vector<double>> sums, counts;
        bool operator==(const Seen&) const = default;
    };
    for (const std::string policy : {"treekv", "tova", "scissorhands", "streaming"}) {
        CAPTURE(policy);
        Seen seen[2];
        const std::shared_ptr<const Model> of[] = {models.host, models.resident};
        for (size_t i = 0; i < 2; ++i) {
            SessionOptions options = options_for(policy);
            Session session(of[i], options);
            const auto observer = [&](const Selection& s) {
                seen[i].steps.push_back({s.layer, static_cast<int64_t>(s.step), s.rows});
                for (const ListState& list : s.lists) {
                    seen[i].streams.emplace_back(list.stream.begin(), list.stream.end());
                    seen[i].sums.emplace_back(list.sum.begin(), list.sum.end());
                    seen[i].counts.emplace_back(list.count.begin(), list.count.end());
                }
                seen[i].dropped.insert(seen[i].dropped.end(), s.dropped.begin(), s.dropped.end());
                seen[i].rows.push_back(s.seen.rows);
            };
            session.set_observer(observer);
            session.set_question_ids(random_text(5, 6));
            session.feed(random_text(150, 3));
            say(session, 20);
            session.set_observer({});
            say(session, 20);
            session.set_observer(observer);
            say(session, 5);
            seen[i].streams.push_back(session.retention().tokens.front());
        }
        CHECK(seen[0] == seen[1]);
    }
}
