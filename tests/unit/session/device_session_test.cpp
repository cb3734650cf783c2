// Sessions on a GPU backend behave as on the CPU.
#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/policy/named/registry.h"
#include "engine/session/memory_plan.h"
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
    options.rows_at_once = 96;
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

// Runs the same stream on the CPU and on the device, and compares every decision.
class Pair {
public:
    Pair(std::shared_ptr<const Model> cpu, std::shared_ptr<const Model> device, const SessionOptions& options,
         double tolerance)
        : tolerance_(tolerance)
    {
        auto setup = set_up(options, cpu->config(), {});
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
        // If signals a little different change the first decision, nothing of the stream is compared; so tries
        // three.
        for (uint64_t seed = 1; seed <= 3 && compared < 16; ++seed) {
            CAPTURE(seed);
            std::optional<HostAccessForbidden> kept_out;
            if (seed == 1) kept_out.emplace();
            Pair pair(cpu, device, options_for(policy, positions), 2e-5);
            pair.feed(random_text(150, seed));
            pair.say(4);
            compared += pair.compared();
        }
        CHECK(compared >= 10);
    }
}

TEST_CASE("a device evicts what the host would evict from the same signals, bit for bit", "[device]")
{
    const auto device = on_device(small_shape());
    bool pinned = false;
    for (const std::string policy :
         {"treekv", "treekv", "treekv-log", "treekv-block:unit=4", "h2o", "h2o", "tova", "snapkv", "pyramidkv",
          "scissorhands:drop=0.2", "lacache:survivors=score", "snapkv:schedule=every:7", "streaming", "knorm",
          "knorm:recent=9", "keydiff", "keydiff:recent=9"}) {
        pinned = !pinned;
        CAPTURE(policy, pinned);
        SessionOptions options = options_for(policy, PositionMode::Contiguous);
        // Pins in the first text, in an answer, and in the second text.
        if (pinned) options.pins = Pins({{5, 11}, {60, 64}, {111, 113}, {130, 134}});
        Session by_device(device, options);
        // A policy given by the caller selects on the host, score by score.
        auto selecting = std::make_unique<ForwardingPolicy>(set_up(options, device->config(), {}).policy);
        Session by_host(device, options, std::move(selecting));
        REQUIRE(by_device.policy().plans());
        REQUIRE_FALSE(by_host.policy().plans());
        SessionState states[2];
        Session* both[] = {&by_device, &by_host};
        for (size_t i = 0; i < 2; ++i) {
            both[i]->feed(random_text(110, 7));
            say(*both[i], 5);
            both[i]->feed(random_text(50, 8));
            both[i]->finish();
            say(*both[i], 4);
            states[i] = both[i]->state();
        }
        CHECK(states[0].logits == states[1].logits);
        CHECK(states[0].policy_state == states[1].policy_state);
        CHECK(states[0].evicted == states[1].evicted);
        for (size_t i = 0; i < states[0].lists.size(); ++i) {
            const ListAtRest &own = states[0].lists[i], &other = states[1].lists[i];
            CHECK(own.tokens.stream == other.tokens.stream);
            CHECK(own.tokens.sum == other.tokens.sum);
            CHECK(own.tokens.count == other.tokens.count);
            CHECK(own.keys == other.keys);
            CHECK(own.values == other.values);
        }
    }
}

TEST_CASE("with pins and question rows a device gives the same results as the CPU", "[device]")
{
    const auto cpu = load_random(small_shape()), device = on_device(small_shape());
    for (const std::string policy : {"streaming", "treekv", "snapkv", "adakv:schedule=every:30", "pyramidkv"}) {
        CAPTURE(policy);
        SessionOptions options = options_for(policy, PositionMode::Contiguous);
        options.pins = Pins({{5, 11}, {60, 64}});
        options.question_room = 5;
        Pair pair(cpu, device, options, 2e-5);
        for (Session* session : {pair.on_cpu.get(), pair.on_device.get()})
            session->set_question_ids(random_text(5, 9));
        pair.feed(random_text(130, 3));
        for (Session* session : {pair.on_cpu.get(), pair.on_device.get()})
            session->set_question_ids({});
        pair.say(4);
        CHECK(pair.compared() >= 4);
        CHECK(pair.on_device->held({5, 11}) == 1);
    }
}

TEST_CASE("a device session continues bit for bit from a state and from a fork", "[device]")
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
        whole.feed(std::span(text).subspan(100)); // state() changed nothing
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

TEST_CASE("a device session goes on from a state with rounded rows, and the saved one from its own", "[device]")
{
    const auto model = on_device(small_shape());
    const auto text = random_text(120);
    const RowRounding coarse = [](std::span<std::byte> rows) { // f16 without its low byte
        for (size_t i = 0; i < rows.size(); i += 2)
            rows[i] = std::byte{0};
    };
    for (const std::string policy : {"treekv", "adakv", "quest"}) {
        CAPTURE(policy);
        const SessionOptions options = options_for(policy, PositionMode::Contiguous);
        Session whole(model, options), saved(model, options);
        for (Session* session : {&whole, &saved}) {
            session->feed(std::span(text).first(100));
            say(*session, 4); // rows are scattered now
        }
        const SessionState rounded = saved.state(coarse);
        const auto on = Session::restore(model, rounded);
        CHECK(on->state().integrity_check == rounded.integrity_check);
        CHECK((on->state(coarse).lists.back().values == rounded.lists.back().values));
        for (Session* session : {&whole, &saved})
            session->feed(std::span(text).subspan(100));
        CHECK(outcome_of(saved, 3) == outcome_of(whole, 3)); // state() changed nothing
    }
}

TEST_CASE("pins that are added and removed on a device are saved with the session", "[device]")
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
        const auto other = start(cpu); // these policies compare no scores
        other->feed(std::span(text).subspan(120, 50));
        other->set_pins({});
        other->feed(std::span(text).subspan(170));
        CHECK(largest_difference(expected.logits, other->logits()) < 2e-5);
        CHECK(other->retention().tokens == expected.kept);
    }
}

TEST_CASE("losses, and results with operands of 16 and 8 bits, are the same on a device as on the CPU", "[device]")
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

TEST_CASE("long super-chunks on a device change no bit", "[device]")
{
    const auto model = on_device(small_shape());
    SessionOptions options = options_for("treekv", PositionMode::Contiguous);
    std::vector<Outcome> outcomes;
    for (const int32_t rows : {0, 1}) {
        options.rows_at_once = rows;
        Session session(model, options);
        if (model->backend().name() != "cpu") CHECK(session.options().rows_at_once == (rows == 0 ? 8192 : chunk));
        session.feed(random_text(130));
        outcomes.push_back(outcome_of(session, 2));
    }
    CHECK(outcomes[0] == outcomes[1]);
}

TEST_CASE("sessions that alternate on a device give the same bits as each one alone", "[device]")
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
    CHECK(outcome_of(*fork, 6) == expected); // although both others have continued
}

// The emulator has any compute capability, counts memory to the byte, and can be made to fail from a given call on.
#ifdef PALIMPSEST_EMULATED_CUDA

TEST_CASE("a super-chunk of a large model is long on a device, because its products need many rows", "[device]")
{
    ModelConfig config;
    config.layers = 32;
    config.dim = 4096;
    config.heads = 32;
    config.kv_heads = 8;
    config.head_dim = config.rotary_dim = 128;
    config.ffn = 14336;
    config.vocabulary = 128256;
    config.context = 8192;
    const auto rows_at_once = [&](const kernels::AtOnce& at_once) {
        return set_up(SessionOptions{}, config, at_once).options.rows_at_once;
    };
    CHECK(rows_at_once({}) == 512); // a chunk
    const int32_t on_device = rows_at_once(open_emulated_cuda(90)->at_once());
    CHECK(on_device >= 4096);
    CHECK(on_device <= 8192);
}

TEST_CASE("a card without BF16 products keeps the cache of a BF16 model in F16", "[device]")
{
    for (const kernels::DType stored : {kernels::DType::BF16, kernels::DType::F16})
        for (const int capability : {75, 80, 90}) {
            CAPTURE(stored, capability);
            const auto path = random_model(small_shape(stored));
            const auto model = Model::load(path, open_emulated_cuda(capability));
            std::filesystem::remove(path);
            const kernels::DType fast = capability < 80 ? kernels::DType::F16 : stored;
            SessionOptions options = options_for("streaming", PositionMode::Contiguous);
            options.kv_type = std::nullopt;
            CHECK(Session(model, options).options().kv_type == fast);
            options.kv_type = kernels::DType::Q8_0;
            const SessionSetup quantised = set_up(options, model->config(), model->backend().at_once());
            CHECK(cache_shape(*model, quantised.options, *quantised.policy, 0).wide == fast);
            options.kv_type = kernels::DType::BF16; // explicitly requested
            CHECK(Session(model, options).options().kv_type == kernels::DType::BF16);
        }
}

namespace {

uint64_t free_bytes(const kernels::Backend& backend)
{
    return backend.memory()->free;
}

std::filesystem::path model_file(const RandomModelShape& shape)
{
    static std::filesystem::path last;
    if (!last.empty()) std::filesystem::remove(last);
    return last = random_model(shape);
}

} // namespace

TEST_CASE("the device memory of a session is planned before the model is loaded", "[device]")
{
    const auto type = GENERATE(kernels::DType::F32, kernels::DType::Q8_0);
    RandomModelShape shape = small_shape(type);
    shape.ffn = 192;
    shape.vocabulary = 512;
    const auto path = model_file(shape);
    bool pinned = false;
    for (const std::string& policy : policies_and_settings()) {
        pinned = !pinned;
        CAPTURE(policy, type, pinned);
        SessionOptions options = options_for(policy, PositionMode::Contiguous);
        options.kv_type = type == kernels::DType::F32 ? kernels::DType::F32 : kernels::DType::F16;
        options.rows_at_once = 96;
        if (pinned) options.pins = Pins({{3, 9}});
        const std::shared_ptr<kernels::Backend> backend = open_emulated_cuda(90);
        const uint64_t before = free_bytes(*backend);
        const MemoryPlanner planner(path, *backend);
        const MemoryPlan plan = planner.plan(options, 2);
        REQUIRE(free_bytes(*backend) == before);
        if (policy == "treekv") {
            SessionOptions with = options, without = options;
            with.pins = Pins({{3, 9}});
            without.pins = {};
            CHECK(planner.plan(with, 2).sessions > planner.plan(without, 2).sessions);
        }

        const auto model = Model::load(path, backend);
        const uint64_t weights = before - free_bytes(*backend);
        CHECK(plan.weights >= weights);
        CHECK(plan.weights <= weights + weights / 10);
        Session session(model, options);
        const uint64_t reserved = free_bytes(*backend);
        CHECK(before - reserved <= plan.total());
        session.feed(random_text(200));
        session.logits();
        say(session, 3);
        session.state();
        CHECK(free_bytes(*backend) == reserved); // generating an answer allocates nothing
        const auto fork = session.fork();
        say(*fork, 2);
        const uint64_t all = before - free_bytes(*backend);
        CHECK(plan.total() >= all);
        CHECK(plan.total() <= all + all / 10);
    }
}

TEST_CASE("a budget that does not fit a device is refused, and the message names one that fits", "[device]")
{
    const auto path = model_file(small_shape());
    const std::shared_ptr<kernels::Backend> backend = open_emulated_cuda(90);
    const MemoryPlanner all(path, *backend);
    SessionOptions options = options_for("treekv", PositionMode::Contiguous);
    options.budget = 400;
    CHECK_NOTHROW(all.require(options, 1));
    SessionOptions smaller = options;
    smaller.budget = 200;
    const uint64_t enough = all.plan(smaller, 1).total() * 32 / 31 + 32;
    REQUIRE(enough < all.plan(options, 1).total());
    const WithheldMemory withheld(free_bytes(*backend) - enough);
    const MemoryPlanner planner(path, *backend);
    CHECK_NOTHROW(planner.require(smaller, 1));
    try {
        planner.require(options, 1);
        FAIL("it fits");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::Resources);
        CHECK(error.code() == ErrorCode::MemoryPlanDoesNotFit);
        const std::string remedy = error.remedy().english();
        INFO(error.what());
        REQUIRE(remedy.starts_with("set budget to "));
        smaller.budget = std::stoi(remedy.substr(std::string("set budget to ").size()));
        CHECK(smaller.budget >= 195);
        CHECK_NOTHROW(planner.require(smaller, 1));
    }
}

TEST_CASE("a state of the device goes on on the CPU, and one of the CPU on the device", "[device]")
{
    const auto type = GENERATE(kernels::DType::F32, kernels::DType::Q4_0, kernels::DType::Q8_0);
    const auto cpu = load_random(small_shape(type)), device = on_device(small_shape(type));
    const SessionOptions options = options_for("treekv", PositionMode::Contiguous);
    for (const auto& [from, to] : {std::pair(device, cpu), std::pair(cpu, device)}) {
        Session session(from, options);
        session.feed(random_text(200));
        const SessionState state = session.state();
        const auto on = Session::restore(to, state);
        CHECK(on->retention().tokens == session.retention().tokens);
        CHECK(on->state().arithmetic != state.arithmetic);
        CHECK(say(*on, 8).size() == 8);
    }
}

TEST_CASE("whichever device call fails, it gives one error, and the session can be destroyed", "[device]")
{
    const auto text = random_text(60);
    const SessionOptions options = options_for("treekv", PositionMode::Contiguous);
    const auto use = [&](const std::shared_ptr<const Model>& model) {
        Session session(model, options);
        session.feed(text);
        say(session, 2);
        session.state();
    };
    const auto path = model_file(small_shape());
    const uint64_t begin = device_calls();
    use(Model::load(path, open_emulated_cuda(90)));
    const uint64_t calls = device_calls() - begin;
    REQUIRE(calls > 300);
    for (uint64_t n = 0; n < calls; n += 1 + calls / 60) {
        CAPTURE(n, calls);
        const FailingDevice failing(n);
        try {
            use(Model::load(path, open_emulated_cuda(90)));
            CHECK(n + 20 > calls); // calls that free resources need not succeed
        } catch (const Error& error) {
            INFO(error.what());
            CHECK(error.kind() == ErrorKind::Resources);
            CHECK(error.code() == ErrorCode::GpuLost);
            CHECK(calls_after_failure() == 0); // later calls would only fail again
        }
    }
}

#endif
