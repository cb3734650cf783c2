// What a session asks of a device for one token and for one super-chunk: launches, host waits and copied bytes.
#include <cstdio>
#include <optional>

#include "tests/support/catch.h"
#include "tests/support/simt/emulated_cuda.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t chunk = 8, chunks_at_once = 4, super_chunk = chunks_at_once * chunk;

struct Case {
    std::string name, policy;
    bool pinned;
};
const std::vector<Case> cases = {{"streaming", "streaming", false},
                                 {"treekv", "treekv", false},
                                 {"h2o", "h2o", false},
                                 {"quest", "quest", false},
                                 {"treekv with pins", "treekv", true}};

RandomModelShape shape_of(int32_t layers, int32_t kv_heads)
{
    return {.layers = layers,
            .dim = 32,
            .heads = 4 * kv_heads,
            .kv_heads = kv_heads,
            .head_dim = 64,
            .ffn = 32,
            .vocabulary = 512,
            .context = 4096};
}

std::shared_ptr<const Model> on_emulator(const RandomModelShape& shape)
{
    const auto path = random_model(shape);
    auto model = Model::load(path, open_emulated_cuda(90));
    std::filesystem::remove(path);
    return model;
}

SessionOptions options_for(const Case& of)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(of.policy);
    options.budget = 48;
    options.chunk = chunk;
    options.rows_at_once = super_chunk;
    if (of.pinned) options.pins = Pins({{5, 11}, {60, 64}});
    return options;
}

template<class Work>
simt::Traffic traffic_of(Work&& work)
{
    const simt::Traffic before = simt::device_traffic();
    work();
    return simt::device_traffic() - before;
}

// Returns the traffic of one item: work(2 + count) minus work(2), divided by `count`, so that the costs of
// beginning and ending cancel.
template<class Work>
simt::Traffic each_of(int32_t count, Work&& work)
{
    const simt::Traffic few = traffic_of([&] { work(2); }), more = traffic_of([&] { work(2 + count); });
    const auto share = [&](uint64_t a, uint64_t b) { return (b - a) / static_cast<uint64_t>(count); };
    return {.launches = share(few.launches, more.launches),
            .graph_nodes = share(few.graph_nodes, more.graph_nodes),
            .waits = share(few.waits, more.waits),
            .idle = share(few.idle, more.idle),
            .copies_up = share(few.copies_up, more.copies_up),
            .copies_down = share(few.copies_down, more.copies_down),
            .bytes_up = share(few.bytes_up, more.bytes_up),
            .bytes_down = share(few.bytes_down, more.bytes_down),
            .pageable = share(few.pageable, more.pageable)};
}

struct Measured {
    simt::Traffic token, super_chunk;
};

Measured measure(const std::shared_ptr<const Model>& model, const Case& of)
{
    Session session(model, options_for(of));
    session.feed(random_text(4 * super_chunk));
    Measured measured;
    measured.super_chunk =
        each_of(2, [&](int32_t count) { session.feed(random_text(static_cast<size_t>(count) * super_chunk)); });
    say(session, 4);
    measured.token = each_of(8, [&](int32_t count) { say(session, count); });
    return measured;
}

void print(const char* what, const Case& of, const simt::Traffic& t)
{
    const auto n = [](uint64_t x) { return static_cast<unsigned long long>(x); };
    std::printf("| %-16s | %-11s | %6llu | %6llu | %5llu | %5llu | %5llu | %9llu | %5llu | %9llu | %5llu |\n",
                of.name.c_str(), what, n(t.launches), n(t.graph_nodes), n(t.waits), n(t.idle), n(t.copies_up),
                n(t.bytes_up), n(t.copies_down), n(t.bytes_down), n(t.pageable));
}

} // namespace

// Not a test: prints a table. Run with device-traffic-test "[table]".
TEST_CASE("prints the device traffic of tokens and super-chunks", "[.table]")
{
    const auto model = on_emulator(shape_of(3, 2));
    std::printf("| policy | for one | launches | in graphs | waits | idle | copies up | bytes up | copies down | "
                "bytes down | pageable |\n");
    for (const Case& of : cases) {
        const Measured measured = measure(model, of);
        print("token", of, measured.token);
        print("super-chunk", of, measured.super_chunk);
        std::fflush(stdout);
    }
}

namespace {

// Launches, which change with the kernels, have an upper bound; all other numbers are exact.
struct Expected {
    uint64_t max_launches, waits, idle, copies_up, bytes_up, copies_down, bytes_down, pageable;
};

void check(const char* what, const Case& of, const simt::Traffic& t, const Expected& expected)
{
    CAPTURE(of.name, what);
    CHECK(t.launches <= expected.max_launches);
    CHECK(t.waits == expected.waits);
    CHECK(t.idle == expected.idle);
    CHECK(t.copies_up == expected.copies_up);
    CHECK(t.bytes_up == expected.bytes_up);
    CHECK(t.copies_down == expected.copies_down);
    CHECK(t.bytes_down == expected.bytes_down);
    CHECK(t.pageable == expected.pageable);
}

} // namespace

TEST_CASE("a token and a super-chunk need the expected launches, host waits and copies", "[device]")
{
    struct Both {
        Expected token, super_chunk;
    };
    const std::vector<Both> expected = {{{1, 1, 1, 1, 484, 1, 1052, 0}, {110, 1, 0, 1, 128, 1, 768, 0}},
                                        {{1, 1, 1, 1, 556, 1, 1076, 0}, {150, 1, 0, 1, 128, 1, 768, 0}},
                                        {{1, 1, 1, 1, 484, 1, 1052, 0}, {165, 1, 0, 1, 128, 1, 768, 0}},
                                        {{1, 1, 1, 1, 485, 1, 1028, 0}, {115, 1, 0, 13, 544, 1, 96, 0}},
                                        {{1, 1, 1, 1, 556, 1, 1076, 0}, {150, 1, 0, 5, 656, 1, 768, 0}}};
    const auto model = on_emulator(shape_of(3, 2));
    for (size_t i = 0; i < cases.size(); ++i) {
        const Measured measured = measure(model, cases[i]);
        check("token", cases[i], measured.token, expected[i].token);
        check("super-chunk", cases[i], measured.super_chunk, expected[i].super_chunk);
    }
}

TEST_CASE("a slow device changes no bit of a session", "[device]")
{
    const auto model = on_emulator(shape_of(2, 2));
    const auto text = random_text(5 * super_chunk + 3);
    for (const Case& of : cases) {
        CAPTURE(of.name);
        std::vector<Outcome> outcomes;
        for (const bool late : {false, true}) {
            std::optional<LateDevice> slow;
            if (late) slow.emplace();
            Session session(model, options_for(of));
            session.feed(std::span(text).first(3 * super_chunk + 1));
            say(session, 3);
            session.feed(std::span(text).subspan(3 * super_chunk + 1));
            const auto again = Session::restore(model, session.state());
            outcomes.push_back(outcome_of(session, 3));
            CHECK(outcome_of(*again, 3) == outcomes.back());
        }
        CHECK(outcomes[1] == outcomes[0]);
    }
}

TEST_CASE("after a stop while a slow device is behind, a session equals one that read as much", "[device]")
{
    const auto model = on_emulator(shape_of(2, 2));
    const auto text = random_text(4 * super_chunk);
    const LateDevice slow;
    for (const Case& of : cases) {
        CAPTURE(of.name);
        Session stopped(model, options_for(of)), other(model, options_for(of));
        std::stop_source stop;
        FeedOptions options;
        options.stop = stop.get_token();
        options.progress = [&](const Telemetry& now) {
            if (now.tokens_seen >= 2 * super_chunk) stop.request_stop();
        };
        CHECK_FALSE(stopped.feed(text, options));
        REQUIRE(stopped.tokens_seen() == 2 * super_chunk);
        const auto again = Session::restore(model, stopped.state());
        other.feed(std::span(text).first(2 * super_chunk));
        const Outcome expected = outcome_of(other, 3);
        CHECK(outcome_of(stopped, 3) == expected);
        CHECK(outcome_of(*again, 3) == expected);
    }
}
