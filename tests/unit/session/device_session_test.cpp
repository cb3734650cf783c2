// Sessions on a GPU backend: the engine above it is the same, and so must be what it does.
#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/policy/registry.h"
#include "engine/session/session_setup.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/test_device.h"
#include "tests/unit/session/compared_policy.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t budget = 72, chunk = 24, context = 512;

RandomModelShape small_shape(kernels::DType type = kernels::DType::F32)
{
    return {.layers = 2,
            .dim = 32,
            .heads = 4,
            .kv_heads = 2,
            .head_dim = 64,
            .ffn = 64,
            .vocabulary = 96,
            .context = context,
            .type = type};
}

std::shared_ptr<const Model> on_device(const RandomModelShape& shape)
{
    const auto path = random_model(shape);
    auto model = Model::load(path, open_test_device());
    std::filesystem::remove(path);
    return model;
}

SessionOptions options_for(const std::string& policy, PositionMode positions)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = policy == "full" ? context : budget;
    options.chunk = chunk;
    options.positions = positions;
    options.kv_type = kernels::DType::F32;
    return options;
}

std::vector<std::string> policies_and_settings()
{
    std::vector<std::string> all = {
        "pyramidkv:allocation=entropy", "hbw-kv:representative=avg", "refreekv:rows=20%,ranking=score",
        "cake:schedule=every:9",        "snapkv:schedule=once",      "twilight:page=4,skip_layers=1"};
    for (const PolicyInfo& info : policies())
        all.push_back(info.name);
    return all;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b)
{
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, std::abs(double{a[i]} - b[i]) / (1 + std::abs(double{b[i]})));
    return largest;
}

// The same stream on the CPU and on the device, decision by decision.
class Pair {
public:
    Pair(std::shared_ptr<const Model> cpu, std::shared_ptr<const Model> device, const SessionOptions& options,
         double tolerance)
        : tolerance_(tolerance)
    {
        auto setup = set_up(options, cpu->config());
        auto leading = std::make_unique<LeadingPolicy>(setup.policy->clone(), cpu->config().layers, decisions_);
        auto following = std::make_unique<FollowingPolicy>(std::move(setup.policy), decisions_, tolerance);
        follower_ = following.get();
        on_cpu = std::make_unique<Session>(std::move(cpu), options, std::move(leading));
        on_device = std::make_unique<Session>(std::move(device), options, std::move(following));
    }

    void feed(std::span<const TokenId> text)
    {
        for (Session* session : {on_cpu.get(), on_device.get()})
            REQUIRE(session->feed(text));
        compare();
    }
    void say(int32_t tokens)
    {
        const auto said = tests::say(*on_cpu, tokens);
        REQUIRE(on_device->replay(said, false) == std::ssize(said));
        compare();
    }
    int64_t compared() const { return follower_->compared(); }
    bool together() const { return decisions_.first_close == SIZE_MAX; }

    std::unique_ptr<Session> on_cpu, on_device;

private:
    void compare()
    {
        const std::vector<float> led = on_cpu->logits(), own = on_device->logits();
        if (!together()) return;
        CHECK(largest_difference(own, led) < tolerance_);
        CHECK(on_device->retention().tokens == on_cpu->retention().tokens);
    }

    double tolerance_;
    Decisions decisions_;
    FollowingPolicy* follower_ = nullptr;
};

} // namespace

TEST_CASE("a device reads and answers as the CPU does under every policy", "[device]")
{
    const auto cpu = load_random(small_shape()), device = on_device(small_shape());
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    for (const std::string& policy : policies_and_settings()) {
        CAPTURE(policy);
        int64_t compared = 0;
        // One that is close at once is no comparison.
        for (uint64_t seed = 1; seed <= 3 && compared < 16; ++seed) {
            CAPTURE(seed);
            std::optional<HostKeptOut> kept_out;
            if (seed == 1) kept_out.emplace();
            Pair pair(cpu, device, options_for(policy, positions), 2e-5);
            pair.feed(random_text(150, seed));
            pair.say(4);
            compared += pair.compared();
        }
        CHECK(compared >= 10);
    }
}

TEST_CASE("pins, and a question in mind, are to a device what they are to the CPU", "[device]")
{
    const auto cpu = load_random(small_shape()), device = on_device(small_shape());
    for (const std::string policy : {"streaming", "treekv", "snapkv", "adakv:schedule=every:30", "pyramidkv"}) {
        CAPTURE(policy);
        SessionOptions options = options_for(policy, PositionMode::Contiguous);
        options.pins = Pins({{5, 11}, {60, 64}});
        options.probe_room = 5;
        Pair pair(cpu, device, options, 2e-5);
        for (Session* session : {pair.on_cpu.get(), pair.on_device.get()})
            session->set_probe(random_text(5, 9));
        pair.feed(random_text(130, 3));
        for (Session* session : {pair.on_cpu.get(), pair.on_device.get()})
            session->set_probe({});
        pair.say(4);
        CHECK(pair.compared() >= 4);
        CHECK(pair.on_device->held({5, 11}) == 1);
    }
}

TEST_CASE("a device goes on from a state and a fork bit for bit", "[device]")
{
    const auto model = on_device(small_shape());
    const auto text = random_text(120);
    auto positions = PositionMode::Contiguous;
    int turn = 0;
    for (const std::string& policy : policies_and_settings()) {
        CAPTURE(policy);
        SessionOptions options = options_for(policy, positions);
        if (turn++ / 2 % 2 == 1) options.kv_type = kernels::DType::Q8_0;
        Session whole(model, options);
        whole.feed(std::span(text).first(100));
        const auto on = Session::restore(model, whole.state());
        CHECK(on->retention().tokens == whole.retention().tokens);
        whole.feed(std::span(text).subspan(100)); // asking for the state has changed nothing
        on->feed(std::span(text).subspan(100));
        const Outcome expected = outcome_of(whole, 3);
        CHECK(outcome_of(*on, 3) == expected);
        const auto fork = whole.fork(); // in the middle of an answer
        for (Session* session : {on.get(), fork.get()})
            session->feed(std::span(text).first(30));
        CHECK(outcome_of(*fork, 2) == outcome_of(*on, 2));
        positions = positions == PositionMode::Original ? PositionMode::Contiguous : PositionMode::Original;
    }
}

TEST_CASE("pins that come and go on a device are saved with it", "[device]")
{
    const auto model = on_device(small_shape()), cpu = load_random(small_shape());
    const auto text = random_text(220);
    for (const std::string policy : {"streaming", "adakv", "quest", "h2o"}) {
        CAPTURE(policy);
        const auto start = [&](const auto& on) {
            auto session = std::make_unique<Session>(on, options_for(policy, PositionMode::Contiguous));
            session->feed(std::span(text).first(120));
            session->set_pins(Pins({{100, 112}}));
            return session;
        };
        const auto whole = start(model), saved = start(model);
        const auto again = Session::restore(model, saved->state());
        for (Session* session : {whole.get(), again.get()}) {
            session->feed(std::span(text).subspan(120, 50));
            session->set_pins({});
            session->feed(std::span(text).subspan(170));
        }
        const Outcome expected = outcome_of(*whole, 4);
        CHECK(outcome_of(*again, 4) == expected);
        if (policy == "h2o" || policy == "adakv") continue;
        const auto other = start(cpu); // where no score is compared
        other->feed(std::span(text).subspan(120, 50));
        other->set_pins({});
        other->feed(std::span(text).subspan(170));
        CHECK(largest_difference(expected.logits, other->logits()) < 2e-5);
        CHECK(other->retention().tokens == expected.kept);
    }
}

TEST_CASE("losses of a text and operands of 16 and 8 bits are to a device what they are to the CPU", "[device]")
{
    const auto type =
        GENERATE(kernels::DType::F32, kernels::DType::F16, kernels::DType::BF16, kernels::DType::Q8_0);
    const auto kv_type = GENERATE(kernels::DType::F32, kernels::DType::F16, kernels::DType::Q8_0);
    const bool exact = type == kernels::DType::F32 && kv_type == kernels::DType::F32;
    CAPTURE(type, kv_type);
    SessionOptions options = options_for("streaming", PositionMode::Contiguous);
    options.kv_type = kv_type;
    std::vector<std::vector<float>> losses;
    for (const auto& model : {load_random(small_shape(type)), on_device(small_shape(type))}) {
        Session session(model, options);
        auto& own = losses.emplace_back();
        session.feed(random_text(150), {.stop = {}, .progress = {}, .loss = [&](uint64_t, TokenId, double nll) {
                                            own.push_back(static_cast<float>(nll));
                                        }});
        session.finish();
        const std::vector<float> logits = session.logits();
        own.insert(own.end(), logits.begin(), logits.end());
    }
    CHECK(largest_difference(losses[1], losses[0]) < (exact ? 2e-5 : 3e-2));
}

TEST_CASE("sessions that take turns on a device are each as alone", "[device]")
{
    const auto model = on_device(small_shape());
    const auto text = random_text(190), other_text = random_text(190, 8);
    const SessionOptions options = options_for("treekv", PositionMode::Contiguous);
    const SessionOptions other_options = options_for("snapkv", PositionMode::Original);
    Session alone(model, options), other_alone(model, other_options);
    alone.feed(text);
    other_alone.feed(other_text);
    const Outcome expected = outcome_of(alone, 6), other_expected = outcome_of(other_alone, 6);

    Session first(model, options), second(model, other_options);
    for (size_t at = 0; at < text.size(); at += 38) {
        first.feed(std::span(text).subspan(at, 38));
        second.feed(std::span(other_text).subspan(at, 38));
    }
    first.logits();
    second.logits();
    const auto fork = first.fork();
    Outcome said{.kept = first.retention().tokens,
                 .logits = first.logits(),
                 .generated = {},
                 .logits_after = {},
                 .kept_after = {}};
    Outcome other_said = said;
    other_said.kept = second.retention().tokens;
    other_said.logits = second.logits();
    for (int i = 0; i < 6; ++i) {
        said.generated.push_back(say(first, 1).at(0));
        other_said.generated.push_back(say(second, 1).at(0));
    }
    said.logits_after = first.logits();
    said.kept_after = first.retention().tokens;
    other_said.logits_after = second.logits();
    other_said.kept_after = second.retention().tokens;
    CHECK(said == expected);
    CHECK(other_said == other_expected);
    CHECK(outcome_of(*fork, 6) == expected); // while both others went on
}
