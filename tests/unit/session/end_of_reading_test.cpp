// A policy that evicts once, when the reading has ended (schedule=once).
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/own_policy.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

// Keeps everything until the end, then the newest tokens of every list: fewer in higher layers.
class NewestAtTheEnd final : public OwnPolicy {
public:
    explicit NewestAtTheEnd(int32_t capacity) : OwnPolicy(4, 2, capacity) {}
    bool bounded() const override { return false; }
    bool waits_for_end() const override { return stage_ == Stage::Reading; }
    void end_prefill() override { stage_ = Stage::Ending; }
    static uint32_t kept(int32_t layer) { return 90 - 20 * static_cast<uint32_t>(layer); }

    void observe(int32_t, std::span<const ListState>, const LayerObservation& seen) override
    {
        if (stage_ == Stage::Ending) CHECK(seen.rows == 0);
    }
    void select(int32_t layer, std::span<const ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override
    {
        dropped.assign(heads.size(), {});
        if (stage_ != Stage::Ending) return;
        for (size_t h = 0; h < heads.size(); ++h)
            for (uint32_t rank = 0; rank + kept(layer) < heads[h].size(); ++rank)
                dropped[h].push_back(rank);
        if (layer == layers_ - 1) stage_ = Stage::Done;
    }
    std::vector<std::byte> state() const override { return {static_cast<std::byte>(stage_)}; }
    void restore(std::span<const std::byte> state) override { stage_ = static_cast<Stage>(state[0]); }
    std::unique_ptr<Policy> clone() const override { return std::make_unique<NewestAtTheEnd>(*this); }

private:
    enum class Stage : uint8_t { Reading, Ending, Done };
    Stage stage_ = Stage::Reading;
};

SessionOptions options_for(int32_t chunk)
{
    SessionOptions options;
    options.chunk = chunk;
    options.budget = 60;
    return options;
}

} // namespace

TEST_CASE("a policy that waits for the end of a reading keeps everything until then, and evicts once")
{
    const auto model = load_random({.context = 400});
    const auto text = random_text(250);
    Session session(model, options_for(32), std::make_unique<NewestAtTheEnd>(400));
    SessionOptions all = options_for(32);
    all.policy = PolicySpec::parse("full");
    all.budget = 400;
    Session full(model, all);
    full.feed(text);
    session.feed(text);
    CHECK(session.retention().tokens == full.retention().tokens);
    std::vector<int32_t> rows;
    session.set_observer([&](const Selection& s) { rows.push_back(s.rows); });
    CHECK(session.logits() == full.logits()); // logits() ends the reading after they are computed
    CHECK(rows == std::vector<int32_t>{26, 26, 26, 26, 0, 0, 0, 0});
    const RetentionMap map = session.retention();
    for (int32_t l = 0; l < 4; ++l)
        for (int32_t h = 0; h < 2; ++h) {
            CHECK(map.of(l, h).size() == NewestAtTheEnd::kept(l));
            CHECK(map.of(l, h).front() == 250 - NewestAtTheEnd::kept(l));
        }
    CHECK(session.telemetry().evicted == 8 * 250 - 2 * (90 + 70 + 50 + 30));

    // Nothing more is evicted, and the lists may grow to their capacity.
    say(session, 30);
    session.feed(random_text(40));
    session.finish();
    CHECK(session.retention().of(3, 1).size() == 30 + 30 + 40);
    CHECK_NOTHROW(session.require_room(400 - 90 - 70));
    CHECK_THROWS_WITH(session.require_room(400 - 90 - 70 + 1), Catch::Contains("PAL-BUDGET-02"));
}

TEST_CASE("a reading that has not ended continues from its state, bit for bit")
{
    const auto model = load_random({.context = 500});
    const auto text = random_text(250);
    const auto policy = [] { return std::make_unique<NewestAtTheEnd>(500); };
    for (const bool within : {false, true}) {
        SessionOptions options = options_for(32);
        options.stops_within_chunk = within;
        Session whole(model, options, policy());
        whole.feed(text);
        const SessionState last = whole.state(); // 26 tokens are pending; nothing is evicted yet
        const Outcome expected = outcome_of(whole);
        Session begun(model, options, policy());
        begun.feed(std::span(text).first(100));
        const auto on = Session::restore(model, begun.state(), policy());
        on->feed(std::span(text).subspan(100));
        CHECK(on->fork()->retention().tokens == expected.kept);
        CHECK(outcome_of(*on) == expected);
        CHECK(outcome_of(*Session::restore(model, last, policy())) == expected);
        const auto after = Session::restore(model, on->state(), policy());
        CHECK(outcome_of(*after) == outcome_of(*on));
    }
}

TEST_CASE("schedule=once evicts at the end of the first text, and nothing of later texts")
{
    const auto model = load_random({.context = 300});
    SessionOptions options = options_for(32);
    options.policy = PolicySpec::parse("snapkv:window=8,schedule=once");
    Session session(model, options);
    const auto held = [&] { return session.retention().of(0, 0).size(); };
    session.feed(random_text(150));
    CHECK(held() == 128); // whole chunks only
    session.finish();
    CHECK(held() == 60);
    const auto kept = session.retention().tokens;
    session.feed(random_text(100, 1));
    session.finish();
    CHECK(held() == 160);
    say(session, 20);
    session.feed(random_text(50, 2));
    session.finish();
    CHECK(held() == 230);
    const RetentionMap map = session.retention();
    for (int32_t l = 0; l < 4; ++l)
        for (int32_t h = 0; h < 2; ++h) { // what is kept of the first text, then every token
            auto expected = kept[static_cast<size_t>(l * 2 + h)];
            for (uint32_t token = 150; token < 320; ++token)
                expected.push_back(token);
            CHECK(map.of(l, h) == expected);
        }
    CHECK_THROWS_WITH(session.feed(random_text(96)),
                      Catch::Contains("PAL-BUDGET-02") && Catch::Contains("evicts nothing after the first text"));
}

TEST_CASE("finish() before any reading does not end the reading")
{
    const auto model = load_random();
    Session session(model, options_for(32), std::make_unique<NewestAtTheEnd>(400));
    CHECK(session.finish());
    CHECK(session.policy().waits_for_end());
    session.feed(random_text(64));
    CHECK(session.policy().waits_for_end());
    CHECK(session.finish());
    CHECK_FALSE(session.policy().waits_for_end());
}
