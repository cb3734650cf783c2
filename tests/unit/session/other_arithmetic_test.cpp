// A state is restored with another arithmetic only if the model predicts nearly the same tokens.
#include <cmath>
#include <filesystem>

#include "engine/session/arithmetic.h"
#include "kernels/base/error.h"
#include "kernels/cpu/simd_target.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;
using palimpsest::test::Refused;
using palimpsest::test::refused;

namespace {

SessionOptions small_options()
{
    SessionOptions options;
    options.budget = 64;
    options.chunk = 16;
    return options;
}

// A state that says it was computed with `arithmetic`, and whose logits are off by `relative` of the largest one.
SessionState off_by(SessionState state, const std::string& arithmetic, double relative)
{
    state.arithmetic = arithmetic;
    float largest = 0;
    for (const float logit : state.integrity_check.logits)
        largest = std::max(largest, std::abs(logit));
    state.integrity_check.logits.back() += static_cast<float>(relative * largest);
    return state;
}

} // namespace

TEST_CASE("the arithmetic has a name that says all of it")
{
    for (const char* name : {"AVX3", "sm_90", "AVX3 fixed-point", "", " fixed-point", "another"})
        CHECK(name_of(arithmetic_named(name)) == name);
    CHECK(arithmetic_named("sm_75").is_on_gpu());
    CHECK_FALSE(arithmetic_named("SSE4").is_on_gpu());
    CHECK(arithmetic_named("AVX3") != arithmetic_named("AVX3 fixed-point"));
}

TEST_CASE("a state of every SIMD target goes on with every other, and is then computed with that")
{
    const auto path = random_model({.dim = 64, .ffn = 128, .type = kernels::DType::Q4_0});
    const auto load = [&](const std::string& simd) {
        return Model::load(path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = simd}));
    };
    std::vector<SessionState> states;
    std::vector<Outcome> outcomes;
    for (const std::string& target : kernels::simd_targets()) {
        Session session(load(target), small_options());
        session.feed(random_text(100));
        states.push_back(session.state());
        outcomes.push_back(outcome_of(session));
    }
    for (const std::string& target : kernels::simd_targets()) {
        const std::shared_ptr<const Model> model = load(target);
        for (size_t i = 0; i < states.size(); ++i) {
            const auto session = Session::restore(model, states[i]);
            const SessionState again = session->state();
            INFO(states[i].arithmetic << " with " << again.arithmetic);
            CHECK(arithmetic_named(again.arithmetic).target == target);
            CHECK(again.lists.front().keys == states[i].lists.front().keys);
            CHECK(again.lists.back().tokens.stream == states[i].lists.back().tokens.stream);
            const Outcome outcome = outcome_of(*session);
            if (again.arithmetic == states[i].arithmetic) CHECK(outcome == outcomes[i]);
            CHECK_NOTHROW(Session::restore(model, again)); // bit for bit now
        }
    }
    std::filesystem::remove(path);
}

TEST_CASE("how far predictions may be off depends on where the state was computed")
{
    const auto model = load_random({.dim = 64, .ffn = 128});
    Session session(model, small_options());
    session.feed(random_text(100));
    const SessionState good = session.state();
    CHECK_NOTHROW(Session::restore(model, off_by(good, "another", 5e-4)));
    CHECK_NOTHROW(Session::restore(model, off_by(good, "sm_90", 4e-2)));
    const auto refusal = [&](const std::string& arithmetic, double relative) {
        return refused([&] { Session::restore(model, off_by(good, arithmetic, relative)); });
    };
    // Not damage: the state may be usable where it was made, so it must not be removed.
    const Refused other = refusal("another", 2e-3);
    CHECK(other.code == "PAL-SNAP-02");
    CHECK(other.says("set SIMD target to another, or read the document again"));
    CHECK(refusal("another fixed-point", 2e-3).says("on a processor with AVX-512 VNNI"));
    CHECK(refusal("sm_90", 7e-2).says("set device to cuda, or read the document again"));
    CHECK(refusal(good.arithmetic, 1e-6).code == "PAL-SNAP-03");
    SessionState nan = off_by(good, "another", 0);
    nan.integrity_check.logits[0] = NAN;
    CHECK(refused([&] { Session::restore(model, nan); }).code == "PAL-SNAP-02");
    for (const float infinite : {INFINITY, -INFINITY}) {
        SessionState bad = off_by(good, "another", 0);
        bad.integrity_check.logits[0] = infinite;
        CHECK(refused([&] { Session::restore(model, bad); }).code == "PAL-SNAP-02");
    }
    SessionState empty = off_by(good, "another", 0);
    empty.integrity_check = {};
    CHECK(refused([&] { Session::restore(model, empty); }).code == "PAL-SNAP-02");
    SessionState unknown = off_by(good, "another", 0);
    unknown.integrity_check.ids[0] = 96;
    CHECK(refused([&] { Session::restore(model, unknown); }).code == "PAL-SNAP-02");
}
