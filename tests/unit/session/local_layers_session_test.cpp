// Sessions of models with local layers.
#include "engine/session/session_remarks.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/reference_model.h"
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
    CHECK(session_remarks(session) ==
          std::vector<std::string>{
              "3 of 6 layers see only a window: they keep the last 40 tokens, whatever the policy"});
    session.set_pins(Pins({{3, 5}}));
    CHECK(session_remarks(session).front().ends_with(", and pins do not hold there"));
}

TEST_CASE("a full cache of a model with local layers fills up in the global ones")
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
    const auto model = load_random(shape); // as Mistral's first version
    for (const std::string policy : {"full", "treekv", "adakv", "quest"}) {
        CAPTURE(policy);
        Session session(model, options_for(policy, policy == "full" ? 0 : 72));
        session.feed(random_text(500));
        CHECK(session.telemetry().slots_used == 2 * 2 * 40);
        const auto again = Session::restore(model, session.state());
        CHECK(outcome_of(*again) == outcome_of(session));
    }
}

TEST_CASE("attention within windows agrees with a slow transformer, though the budget is smaller")
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
