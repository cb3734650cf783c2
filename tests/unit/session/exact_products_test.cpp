// Sessions that compute products with quantised weights in f32.
#include <filesystem>

#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

TEST_CASE("a state goes on with the other product type, which then computes it")
{
    // Q4_0 is multiplied in fixed point in prefill and decode, Q5_0 in prefill only.
    const auto path =
        random_model({.dim = 64, .ffn = 128, .type = GENERATE(kernels::DType::Q4_0, kernels::DType::Q5_0)});
    const auto load = [&](bool exact, const std::string& simd = "") {
        return Model::load(
            path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = simd, .exact_products = exact}));
    };
    const std::shared_ptr<const Model> exact = load(true), fast = load(false);
    std::filesystem::remove(path);
    CHECK(exact->backend().exact_products());
    SessionOptions options;
    options.budget = 64;
    options.chunk = 16;
    Session session(exact, options), other(fast, options);
    session.feed(random_text(100));
    other.feed(random_text(100));
    const SessionState state = session.state();
    const Outcome expected = outcome_of(session); // which goes on with it
    CHECK(outcome_of(*Session::restore(exact, state)) == expected);

    if (fast->backend().exact_products()) { // a processor without VNNI computes the same either way
        CHECK(outcome_of(*Session::restore(fast, state)) == expected);
        return;
    }
    CHECK(Session::restore(fast, state)->state().arithmetic == state.arithmetic + " fixed-point");
    CHECK(Session::restore(exact, other.state())->state().arithmetic == state.arithmetic);
}

TEST_CASE("exact products change nothing in a model whose weights are not multiplied in fixed point")
{
    const auto path = random_model({.dim = 64, .ffn = 128, .type = kernels::DType::F16});
    const auto load = [&](bool exact) {
        return Model::load(
            path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = "", .exact_products = exact}));
    };
    const std::shared_ptr<const Model> exact = load(true), fast = load(false);
    std::filesystem::remove(path);
    SessionOptions options;
    options.budget = 64;
    options.chunk = 16;
    Session session(exact, options);
    session.feed(random_text(100));
    const SessionState state = session.state();
    CHECK(outcome_of(*Session::restore(fast, state)) == outcome_of(session));
}
