// Question rows after each chunk provide signals and change nothing else.
#include <map>

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/own_policy.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

SessionOptions options_for(const std::string& policy, int32_t budget, int32_t chunk, PositionMode positions)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = budget;
    options.chunk = chunk;
    options.positions = positions;
    return options;
}

// The accumulated sums of every layer's lists when the policy selected.
using Sums = std::map<int32_t, std::vector<std::vector<double>>>;

void keep_sums(Session& session, Sums& sums, int32_t& rows_seen)
{
    session.set_observer([&](const Selection& s) {
        auto& layer = sums[s.layer];
        layer.clear();
        for (const ListState& list : s.lists)
            layer.emplace_back(list.sum.begin(), list.sum.end());
        rows_seen = s.seen.rows;
    });
}

} // namespace

TEST_CASE("question rows change no bit of a session whose policy uses no signals")
{
    const auto model = load_random();
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(333);
    for (const std::string policy : {"streaming", "lacache"}) {
        for (const int32_t rows_at_once : {1, 100, 1000}) {
            CAPTURE(policy, rows_at_once);
            SessionOptions options = options_for(policy, 64, 16, positions);
            Session plain(model, options);
            options.rows_at_once = rows_at_once;
            Session with_question(model, options);
            with_question.set_question_ids(random_text(23, 77));
            std::vector<double> losses[2];
            size_t which = 0;
            for (Session* session : {&plain, &with_question}) {
                auto& own = losses[which++];
                const FeedOptions feed{
                    .stop = {}, .progress = {}, .loss = [&](uint64_t, TokenId, double nll) { own.push_back(nll); }};
                session->feed(text, feed);
                session->finish(feed);
            }
            CHECK(losses[0] == losses[1]);
            CHECK(losses[0].size() == text.size() - 1);
            CHECK(outcome_of(with_question) == outcome_of(plain));
            CHECK(with_question.tokens_seen() == plain.tokens_seen());
        }
    }
}

TEST_CASE("signals with question rows equal those of one chunk of text and question, for the entries of the text")
{
    const auto model = load_random();
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(50), question = random_text(13, 9);
    auto both = text;
    both.insert(both.end(), question.begin(), question.end());
    for (const std::string score : {"mean", "last"}) {
        Session with_question(model, options_for("treekv:score=" + score, 300, 50, positions));
        Session as_one(model, options_for("treekv:score=" + score, 300, 63, positions));
        Sums seen, expected;
        int32_t rows = 0, rows_as_one = 0;
        keep_sums(with_question, seen, rows);
        keep_sums(as_one, expected, rows_as_one);
        with_question.set_question_ids(question);
        with_question.feed(text);
        as_one.feed(both);
        CHECK(rows == 63);
        CHECK(rows_as_one == 63);
        REQUIRE(seen.size() == 4);
        for (auto& [layer, heads] : expected)
            for (auto& sums : heads)
                sums.resize(50);
        CHECK(seen == expected);
        CHECK(with_question.retention().of(0, 0).size() == 50);
    }
}

TEST_CASE(
    "a reading with question rows gives the same bits from a state, from a fork, and for any cuts of the input")
{
    const auto model = load_random();
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto text = random_text(300), question = random_text(9, 4);
    SessionOptions options = options_for("treekv", 64, 16, positions);
    Session whole(model, options), plain(model, options);
    whole.set_question_ids(question);
    for (Session* session : {&whole, &plain})
        session->feed(text);
    const Outcome expected = outcome_of(whole);
    CHECK(outcome_of(plain).kept != expected.kept); // the question changed the selection

    Session begun(model, options);
    begun.set_question_ids(question);
    begun.feed(std::span(text).first(101));
    const auto restored = Session::restore(model, begun.state());
    CHECK(restored->question_ids() == question);
    restored->feed(std::span(text).subspan(101));
    CHECK(outcome_of(*restored) == expected);
    const auto fork = Session::restore(model, begun.state())->fork(); // ends the chunk, so chunk boundaries move
    CHECK(fork->question_ids() == question);

    for (const bool within : {false, true}) {
        options.stops_within_chunk = within;
        Session pieces(model, options);
        pieces.set_question_ids(question);
        for (size_t at = 0; at < text.size(); at += 7)
            pieces.feed(std::span(text).subspan(at, std::min<size_t>(7, text.size() - at)));
        CHECK(outcome_of(pieces) == expected);
    }
}

TEST_CASE("after its question is removed a session equals one that had none")
{
    const auto model = load_random();
    SessionOptions options = options_for("streaming", 64, 16, PositionMode::Contiguous);
    Session plain(model, options), with_question(model, options);
    const uint64_t bytes = with_question.telemetry().cache_bytes;
    with_question.set_question_ids(random_text(30));
    CHECK(with_question.telemetry().cache_bytes > bytes);
    for (Session* session : {&plain, &with_question})
        session->feed(random_text(100));
    say(with_question, 5), say(plain, 5);
    const auto logits = with_question.logits();
    with_question.set_question_ids({});
    CHECK(with_question.logits() == logits);
    CHECK(with_question.telemetry().cache_bytes <= bytes + 4096);
    for (Session* session : {&plain, &with_question})
        session->feed(random_text(100, 8));
    CHECK(outcome_of(with_question) == outcome_of(plain));
}

TEST_CASE("stopping within a chunk removes its question rows too")
{
    const auto model = load_random();
    SessionOptions options = options_for("treekv", 64, 32, PositionMode::Contiguous);
    options.stops_within_chunk = true;
    Session session(model, options), whole(model, options);
    const auto text = random_text(192);
    for (Session* s : {&session, &whole}) {
        s->set_question_ids(random_text(11, 2));
        s->feed(std::span(text).first(96));
    }
    std::stop_source stop;
    int32_t chunks = 0;
    const FeedOptions feed{.stop = stop.get_token(),
                           .progress =
                               [&](const Telemetry&) {
                                   if (++chunks == 1) stop.request_stop();
                               },
                           .loss = {}};
    CHECK_FALSE(session.feed(std::span(text).subspan(96), feed));
    CHECK(session.tokens_seen() == 128);
    session.feed(std::span(text).subspan(128));
    whole.feed(std::span(text).subspan(96));
    CHECK(outcome_of(session) == outcome_of(whole));
}

TEST_CASE("a question that does not fit is refused and changes nothing")
{
    const auto model = load_random({.context = 128});
    Session session(model, options_for("treekv", 80, 32, PositionMode::Contiguous));
    session.feed(random_text(64));
    CHECK_THROWS_WITH(session.set_question_ids(random_text(17)),
                      Catch::Contains("PAL-BUDGET-01") && Catch::Contains("17"));
    CHECK_THROWS_WITH(session.set_question_ids({96}), Catch::Contains("PAL-TEXT-01"));
    CHECK(session.question_ids().empty());
    CHECK_NOTHROW(session.set_question_ids(random_text(16)));
    CHECK_THROWS_AS(session.set_question_ids(random_text(17)), Error);
    CHECK(session.question_ids().size() == 16);

    Session original(model, options_for("treekv", 80, 32, PositionMode::Original));
    original.set_question_ids(random_text(20));
    original.feed(random_text(96));
    CHECK_THROWS_WITH(original.feed(random_text(32)), Catch::Contains("PAL-BUDGET-03"));

    Session full(model, options_for("full", 0, 32, PositionMode::Contiguous));
    full.set_question_ids(random_text(20));
    full.feed(random_text(96));
    CHECK_THROWS_WITH(full.feed(random_text(32)), Catch::Contains("PAL-BUDGET-02"));
}
