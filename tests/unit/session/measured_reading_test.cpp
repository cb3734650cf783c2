// The losses, kept tokens and counts of a measured reading do not depend on how its text is divided.
#include <algorithm>

#include "engine/eval/measured_reading.h"
#include "engine/session/token_loss.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t chunk = 16;
constexpr size_t text_tokens = 150; // not a multiple of the chunk

SessionOptions options_of(const std::string& policy, int32_t budget = 48)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = budget;
    options.chunk = chunk;
    return options;
}

struct SeenLoss {
    uint64_t index = 0;
    TokenId token = 0;
    double nll = 0;
    bool operator==(const SeenLoss&) const = default;
};

// Collects the losses that a reading passes on.
class Losses {
public:
    FeedOptions feed()
    {
        FeedOptions options;
        options.loss = [this](uint64_t index, TokenId token, double nll) { all.push_back({index, token, nll}); };
        return options;
    }

    std::vector<SeenLoss> all;
};

} // namespace

TEST_CASE("a text that is read in parts has the losses of one that is read at once")
{
    const auto model = load_random();
    const auto text = random_text(text_tokens);
    const std::string policy = GENERATE("treekv", "h2o", "quest", "full");
    const size_t last = policy == "full" ? 48 : text_tokens;
    CAPTURE(policy);
    Losses losses, losses_of_parts;
    MeasuredReading whole(model, options_of(policy), text, {10, 100, 1000});
    CHECK(whole.last() == last);
    CHECK(whole.is_complete() == (policy != "full"));
    CHECK_FALSE(whole.is_done());
    REQUIRE(whole.read_all(losses.feed()));
    CHECK(whole.is_done());
    CHECK(whole.seconds() > 0);
    CHECK(whole.losses().all().tokens == last - 1);
    REQUIRE(losses.all.size() == last - 1);
    CHECK(losses.all.front().index == 1);
    CHECK(losses.all.back().token == text[last - 1]);
    CHECK(whole.losses().by_length().size() == (policy == "full" ? 1u : 2u));

    MeasuredReading parts(model, options_of(policy), text, {10, 100, 1000});
    for (uint64_t end = chunk; !parts.is_done(); end += chunk) {
        REQUIRE(parts.read_up_to(end, losses_of_parts.feed()));
        CHECK(parts.read() == std::min<uint64_t>(end, last));
    }
    // The logits before the first token of a part are computed alone, all others together with their chunk, so
    // they may differ by rounding.
    REQUIRE(losses_of_parts.all.size() == losses.all.size());
    for (size_t i = 0; i < losses.all.size(); ++i) {
        CHECK(losses_of_parts.all[i].index == losses.all[i].index);
        CHECK(losses_of_parts.all[i].token == losses.all[i].token);
        CHECK(losses_of_parts.all[i].nll == Approx(losses.all[i].nll));
    }
    CHECK(parts.losses().all().total == Approx(whole.losses().all().total));
    CHECK(parts.session().retention().tokens == whole.session().retention().tokens);
}

TEST_CASE("a measured reading has the losses of an ordinary session that is fed the text")
{
    const auto model = load_random();
    const auto text = random_text(text_tokens);
    Losses expected, losses;
    Session session(model, options_of("treekv"));
    session.feed(text, expected.feed());
    session.finish(expected.feed());
    MeasuredReading reading(model, options_of("treekv"), text);
    REQUIRE(reading.read_all(losses.feed()));
    CHECK(losses.all == expected.all);
    CHECK(reading.session().retention().tokens == session.retention().tokens);
}

TEST_CASE("a retrieval policy is measured token by token")
{
    const auto model = load_random();
    const auto text = random_text(text_tokens);
    MeasuredReading reading(model, options_of("quest"), text);
    CHECK(reading.session().options().chunk == 1);
    int reports = 0;
    FeedOptions options;
    options.progress = [&](const Telemetry&) { ++reports; };
    REQUIRE(reading.read_all(options));
    CHECK(reports == 3); // after the first token, then after every 64 of the 150

    SessionOptions one_by_one = options_of("quest");
    one_by_one.chunk = 1;
    Session session(model, one_by_one);
    session.feed(std::span(text).first(1));
    LossMeter meter;
    for (size_t i = 1; i < text.size(); ++i) {
        meter.add(i, negative_log_likelihood(session.logits(), text[i]));
        session.replay(std::span(text).subspan(i, 1), false);
    }
    CHECK(reading.losses().all().total == meter.all().total);
}

TEST_CASE("a stop request before the next chunk leaves tokens read and seconds unchanged")
{
    const auto model = load_random();
    const auto text = random_text(text_tokens);
    MeasuredReading reading(model, options_of(GENERATE("treekv", "quest")), text);
    REQUIRE(reading.read_up_to(2 * chunk, {}));
    const double seconds = reading.seconds();
    std::stop_source stop;
    stop.request_stop();
    FeedOptions options;
    options.stop = stop.get_token();
    CHECK_FALSE(reading.read_up_to(3 * chunk, options));
    CHECK(reading.read() == 2 * chunk);
    CHECK(reading.seconds() == seconds);
}
