// Sessions of models with local layers.
#include <filesystem>

#include "engine/session/cache_bytes.h"
#include "engine/session/memory_plan.h"
#include "engine/session/session_remarks.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/reference_model.h"
#include "tests/support/selecting_backend.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t window = 40, chunk = 24;

RandomModelShape gemma(const std::string& architecture = "gemma3")
{
    return {.layers = 6, .head_dim = 16, .context = 1024, .architecture = architecture, .window = window};
}

SessionOptions options_for(const std::string& policy, int32_t budget)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = budget;
    options.chunk = chunk;
    return options;
}

} // namespace

TEST_CASE("local layers hold the last tokens of their window, and global ones what the policy keeps")
{
    const auto model = load_random(gemma());
    Session session(model, options_for("streaming", 72));
    session.feed(random_text(300));
    say(session, 20);
    const RetentionMap map = session.retention();
    for (int32_t l = 0; l < 6; ++l)
        for (int32_t h = 0; h < 2; ++h) {
            const auto& kept = map.of(l, h);
            const bool local = l % 2 == 0;
            REQUIRE(kept.size() == (local ? 40u : 72u));
            CHECK(kept.back() == session.tokens_seen() - 1);
            CHECK(kept.front() == (local ? session.tokens_seen() - 40 : 0u));
        }
    CHECK(session.telemetry().slots_used == 2 * (3 * 40 + 3 * 72));
    REQUIRE(session_remarks(session).size() == 1);
    CHECK(session_remarks(session).front().english() ==
          "3 of 6 layers see only a window: they keep the last 40 tokens, whatever the policy");
    session.set_pins(Pins({{3, 5}}));
    CHECK(session_remarks(session).front().english().ends_with(", and pins do not hold there"));
}

TEST_CASE("under the policy full only global layers grow up to the context")
{
    RandomModelShape shape = gemma();
    shape.context = 128;
    const auto model = load_random(shape);
    Session session(model, options_for("full", 0));
    session.feed(random_text(120));
    CHECK(session.telemetry().full_cache_bytes ==
          static_cast<uint64_t>(2 * (3 * 40 + 3 * 120)) * 2 * 2 * 16); // keys and values of 16 numbers of 16 bits
    CHECK(session.telemetry().slots_used == 2 * (3 * 40 + 3 * 120));
    CHECK(say(session, 20).size() == 8);
    CHECK_THROWS_WITH(session.feed(random_text(24)),
                      Catch::Contains("its capacity is 128 tokens and 152 are needed"));
}

TEST_CASE("a model whose every layer is local reads texts of any length with every policy")
{
    RandomModelShape shape{.layers = 2, .context = 128, .window = 40};
    const auto model = load_random(shape); // like the first Mistral
    for (const std::string policy : {"full", "treekv", "adakv", "quest"}) {
        CAPTURE(policy);
        Session session(model, options_for(policy, policy == "full" ? 0 : 72));
        session.feed(random_text(500));
        CHECK(session.telemetry().slots_used == 2 * 2 * 40);
        const auto again = Session::restore(model, session.state());
        CHECK(outcome_of(*again) == outcome_of(session));
    }
}

TEST_CASE("attention within windows agrees with a slow transformer, also if the budget is smaller")
{
    const std::string architecture = GENERATE(as<std::string>(), "gemma2", "gemma3", "qwen3");
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    CAPTURE(architecture);
    const auto model = load_random(gemma(architecture));
    const int32_t budget = GENERATE(32, 72);
    SessionOptions options = options_for("streaming", budget);
    options.positions = positions;
    options.kv_type = kernels::DType::F32;
    Session session(model, options);
    const ReferenceModel reference(model->files());
    ReferenceStream slow(reference, positions == PositionMode::Contiguous);
    std::vector<std::vector<std::vector<uint32_t>>> dropped(6);
    session.set_observer([&](const Selection& s) { dropped[static_cast<size_t>(s.layer)] = s.dropped; });
    const auto text = random_text(240);
    double worst = 0, largest = 0;
    for (size_t at = 0; at < text.size(); at += chunk) {
        const auto part = std::span(text).subspan(at, chunk);
        session.feed(part);
        const std::vector<double> expected = slow.feed(part);
        for (int l = 0; l < 6; ++l)
            for (int h = 0; h < 2; ++h)
                slow.drop(l, h, dropped[static_cast<size_t>(l)][static_cast<size_t>(h)]);
        const auto& logits = session.logits();
        for (size_t i = 0; i < expected.size(); ++i) {
            worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - expected[i]));
            largest = std::max(largest, std::abs(expected[i]));
        }
    }
    CHECK(worst <= 2e-5 * largest);
}

TEST_CASE("the size of a cache counts local layers with their window")
{
    const ModelConfig config = load_random(gemma())->config(); // six layers, every other one of 40 tokens
    const uint64_t token = 2 * 2 * 16 * 2; // two heads, keys and values of 16 numbers of 16 bits
    CHECK(token_bytes(config, kernels::DType::F16) == token);
    CHECK(cache_bytes(config, kernels::DType::F16, 0) == 0);
    CHECK(cache_bytes(config, kernels::DType::F16, 40) == 6 * 40 * token);
    CHECK(cache_bytes(config, kernels::DType::F16, 41) == (3 * 40 + 3 * 41) * token);
    CHECK(cache_bytes(config, kernels::DType::F16, 1000) == (3 * 40 + 3 * 1000) * token);
    CHECK(cache_bytes(config, kernels::DType::F32, 1000) == (3 * 40 + 3 * 1000) * 2 * token);
    CHECK(cache_bytes(config, kernels::DType::F16, UINT64_MAX / 2) == UINT64_MAX);
    CHECK(layers_without_window(config) == 3);
}

TEST_CASE("restoring a session never holds two caches")
{
    SelectingBackendUse use;
    const auto path = random_model(gemma());
    const std::shared_ptr<const Model> model = Model::load(path, open_selecting_backend(1, use));
    std::filesystem::remove(path);
    const auto one_cache = [&](const auto& restore) {
        const int64_t before = use.held_bytes;
        use.peak_bytes = before;
        std::unique_ptr<Session> session = restore();
        CHECK(use.peak_bytes - before <= (use.held_bytes - before) * 11 / 10);
        return session;
    };
    for (const std::string policy : {"treekv", "snapkv", "pyramidkv", "adakv"}) {
        CAPTURE(policy);
        const SessionOptions options = options_for(policy, 400);
        auto session = std::make_unique<Session>(model, options);
        session->set_question_ids(random_text(5));
        session->feed(random_text(700));
        const SessionState state = session->state();
        const Outcome expected = outcome_of(*session);
        session.reset();
        CHECK(outcome_of(*one_cache([&] { return Session::restore(model, state); })) == expected);
        if (policy == "treekv")
            one_cache([&] { return Session::adopt(model, state, options_for("streaming", 400)); });
    }
}

TEST_CASE("the largest budget that fits is found below and above the window")
{
    for (const int32_t tokens : {1000, 4000}) {
        RandomModelShape shape = gemma();
        shape.window = tokens;
        shape.kv_heads = 4;
        shape.head_dim = 256; // the cache is much larger than the other allocations
        shape.context = 8192;
        const auto model = load_random(shape);
        SessionOptions options = options_for("streaming", 0);
        for (const int32_t budget : {600, 2000, 3000, 6000, 7800}) {
            INFO("window " << tokens << ", budget " << budget);
            options.budget = budget;
            const uint64_t available = MemoryPlanner(*model, UINT64_MAX).plan(options, 1).total();
            const int32_t largest = MemoryPlanner(*model, available).largest_budget(options, 1);
            CHECK(std::abs(largest - budget) <= 350); // large buffers are allocated in units of 2 MiB
        }
    }
}
