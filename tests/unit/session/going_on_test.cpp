// Sessions that continue from the state of another: under another policy, or to trace what an answer attended to.
#include <algorithm>

#include "engine/policy/named/registry.h"
#include "engine/session/attention_trace.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/own_policy.h"
#include "tests/unit/session/session_fixture.h"

namespace palimpsest::tests {
namespace {

using namespace engine;

SessionOptions options_with(const std::string& policy, int32_t budget, int32_t chunk = 16)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = budget;
    options.chunk = chunk;
    return options;
}

std::unique_ptr<Session> fed(std::shared_ptr<const Model> model, const SessionOptions& options, size_t tokens)
{
    auto session = std::make_unique<Session>(std::move(model), options);
    session->feed(random_text(tokens));
    session->finish();
    return session;
}

class Watching final : public OwnPolicy {
public:
    using OwnPolicy::OwnPolicy;
    SignalNeeds signals() const override { return {.window = SignalNeeds::all}; }
    std::unique_ptr<Policy> clone() const override { return std::make_unique<Watching>(*this); }
};

} // namespace

TEST_CASE("under the same policy a session adopted from a state continues like the original", "[going-on]")
{
    const auto model = load_random();
    for (const char* policy : {"streaming", "lacache", "tova", "full"}) {
        CAPTURE(policy);
        const auto session = fed(model, options_with(policy, 64), 60);
        const auto other = Session::adopt(model, session->state(), session->options());
        CHECK(outcome_of(*other) == outcome_of(*session));
    }
}

TEST_CASE("a new policy starts with the kept tokens, and is within its budget after the next chunk", "[going-on]")
{
    const auto model = load_random();
    const auto session = fed(model, options_with("h2o", 64), 100);
    const SessionState state = session->state();
    PolicyContext context;
    context.layers = model->config().layers;
    context.kv_heads = model->config().kv_heads;
    context.budget = 40;
    for (const PolicyInfo& info : policies()) {
        CAPTURE(info.name);
        const bool retrieves = info.name == "quest" || info.name == "twilight" || info.name == "full";
        const SessionOptions options = options_with(info.name, retrieves ? 200 : 40);
        if (make_policy(options.policy, context)->heads_hold_same()) {
            CHECK_THROWS_AS(Session::adopt(model, state, options), Error); // heads of h2o hold different tokens
            continue;
        }
        const auto other = Session::adopt(model, state, options);
        CHECK(other->retention().tokens == session->retention().tokens);
        CHECK(other->tokens_seen() == 100);
        other->feed(random_text(48, 9));
        other->finish();
        const int64_t lists = int64_t{model->config().layers} * model->config().kv_heads;
        if (!retrieves) CHECK(other->telemetry().slots_used <= lists * 40);
        const RetentionMap before = session->retention(), after = other->retention();
        for (size_t i = 0; i < after.tokens.size(); ++i)
            for (const uint32_t token : after.tokens[i]) // evicted tokens stay evicted
                CHECK(
                    (token >= 100 || std::binary_search(before.tokens[i].begin(), before.tokens[i].end(), token)));
        CHECK_NOTHROW(say(*other, 8));
    }
}

TEST_CASE("lists of different lengths are refused for a policy that requires equal lengths", "[going-on]")
{
    const auto model = load_random();
    const auto session = fed(model, options_with("adakv:recent=8", 32), 200);
    bool ragged = false;
    for (const auto& list : session->retention().tokens)
        ragged = ragged || list.size() != session->retention().tokens[0].size();
    REQUIRE(ragged);
    try {
        Session::adopt(model, session->state(), options_with("treekv-block", 32));
        FAIL("it was taken");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::PolicyCannotContinue);
        CHECK(error.kind() == ErrorKind::Usage);
    }
}

TEST_CASE("pending tokens stay pending under other options", "[going-on]")
{
    const auto model = load_random();
    const auto session = std::make_unique<Session>(model, options_with("streaming", 64));
    session->feed(random_text(40)); // two chunks, and eight pending tokens
    const auto other = Session::adopt(model, session->state(), options_with("streaming", 64));
    CHECK(other->pending() == 8);
    CHECK(outcome_of(*other) == outcome_of(*session));
}

TEST_CASE("the attention trace of an answer equals the sums of a policy that observes every row", "[going-on]")
{
    // With LongRoPE, a session of the trace's length alone would use the angles for short contexts, which is wrong.
    const int32_t original_context = GENERATE(0, 110);
    CAPTURE(original_context);
    const auto model = load_random({.original_context = original_context});
    const auto text = random_text(70), question = random_text(9, 21), answer = random_text(12, 22);
    const auto lists = static_cast<double>(model->config().layers * model->config().kv_heads);

    const auto before = fed(model, options_with("full", 0, 70), 70);
    const auto attended = attention_trace(model, before->state(), question, answer);

    Session watched(model, options_with("streaming", 100, 70),
                    std::make_unique<Watching>(model->config().layers, model->config().kv_heads, 100));
    std::vector<double> received(100);
    double sign = 0;
    watched.set_observer([&](const Selection& seen) {
        for (const ListState& list : seen.lists)
            for (size_t rank = 0; rank < list.size(); ++rank)
                received[list.stream[rank]] += sign * list.sum[rank];
    });
    const auto read = [&](const std::vector<TokenId>& ids, double counts) {
        sign = counts;
        watched.feed(ids);
        watched.finish();
    };
    read(text, 0);
    read(question, -1);
    read(answer, 1);

    REQUIRE(attended.size() == 79);
    double sum = 0;
    for (size_t i = 0; i < attended.size(); ++i) {
        CHECK(attended[i].token == i);
        CHECK(attended[i].weight == Approx(received[i] / (lists * 12)).margin(1e-5));
        sum += attended[i].weight;
    }
    double of_the_answer = 0;
    for (size_t i = 79; i < 91; ++i)
        of_the_answer += received[i] / (lists * 12);
    CHECK(sum + of_the_answer == Approx(1).margin(1e-4)); // the attention of every row sums to 1
    CHECK(sum > 0.05);
}

TEST_CASE("a trace lists only kept tokens and the question, and refuses a turn that does not fit", "[going-on]")
{
    const auto model = load_random();
    const auto session = fed(model, options_with("adakv:recent=8", 32), 200);
    const auto before = session->retention();
    const auto attended = attention_trace(model, session->state(), random_text(5, 3), random_text(7, 4));
    std::vector<uint32_t> kept;
    for (const auto& list : before.tokens)
        kept.insert(kept.end(), list.begin(), list.end());
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (uint32_t token = 200; token < 205; ++token)
        kept.push_back(token);
    REQUIRE(attended.size() == kept.size());
    for (size_t i = 0; i < kept.size(); ++i)
        CHECK(attended[i].token == kept[i]);
    CHECK(session->retention().tokens == before.tokens);

    const auto context = static_cast<size_t>(model->config().context);
    CHECK_THROWS_AS(attention_trace(model, session->state(), random_text(5, 3), random_text(context, 4)), Error);
    CHECK(attention_trace(model, session->state(), random_text(5, 3), {}).empty());
}

} // namespace palimpsest::tests
