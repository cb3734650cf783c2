// Sampling from the best logits alone must choose the same tokens as sampling from all of them.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/session/sampler.h"
#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/test_level.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

constexpr int32_t most = kernels::BestLogitsArgs::most;

struct Best {
    std::vector<float> logits;
    std::vector<TokenId> ids;
};

Best best_of(const std::vector<float>& logits, int32_t wanted)
{
    const auto count = std::min(static_cast<size_t>(wanted), logits.size());
    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto logit = [&](TokenId id) { return logits[static_cast<size_t>(id)]; };
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                      [&](TokenId a, TokenId b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
    ids.resize(count);
    Best best{{}, ids};
    for (TokenId id : ids)
        best.logits.push_back(logit(id));
    return best;
}

enum class Shape { Usual, Ties, Close, Large, Zeros };
constexpr Shape all_shapes[] = {Shape::Usual, Shape::Ties, Shape::Close, Shape::Large, Shape::Zeros};

void fill(std::vector<float>& logits, Shape shape, std::mt19937& random)
{
    for (float& logit : logits) {
        const float x = static_cast<float>(random()) * 0x1p-31f - 1; // -1 to 1
        switch (shape) {
        case Shape::Usual:
            logit = 12 * x;
            break;
        case Shape::Ties:
            logit = std::round(5 * x);
            break;
        case Shape::Close: // distinct logits with equal probabilities
            logit = 1e-20f * x;
            break;
        case Shape::Large:
            logit = 3e38f * x;
            break;
        case Shape::Zeros:
            logit = std::copysign(0.0f, x);
            break;
        }
    }
    if (shape == Shape::Close) logits[random() % logits.size()] = 2;
}

template<class T, size_t n>
T one_of(const T (&values)[n], std::mt19937& random)
{
    return values[random() % n];
}

SamplerOptions random_options(std::mt19937& random)
{
    return {.temperature = one_of({0.0, 0.01, 0.7, 1.0, 30.0}, random),
            .top_k = one_of({0, 1, 2, 7, 40, 40, 99, 100, 128, 129, 1 << 30}, random),
            .top_p = one_of({1.0, 1.0, 0.95, 0.3}, random),
            .min_p = one_of({0.0, 0.0, 0.05, 1.0}, random),
            .repeat_penalty = one_of({1.0, 1.0, 1.1, 1.5, 100.0, 0.5}, random),
            .repeat_last = one_of({0, 1, 20, 64, 1000}, random),
            .seed = random()};
}

struct Stream {
    size_t vocabulary = 0;
    SamplerOptions options;
    int tokens = 200;
};

// Returns how many of the stream's tokens were chosen from the best logits.
int follow(const Stream& stream, std::mt19937& random)
{
    const SamplerOptions& o = stream.options;
    CAPTURE(stream.vocabulary, o.temperature, o.top_k, o.top_p, o.min_p, o.repeat_penalty, o.repeat_last, o.seed);
    Sampler all(o), best(o), more(o);
    std::vector<float> logits(stream.vocabulary);
    int from_best = 0;
    for (int i = 0; i < stream.tokens; ++i) {
        fill(logits, one_of(all_shapes, random), random);
        const TokenId token = all.sample(logits);
        const int32_t needed = best.best_needed();
        REQUIRE((needed >= 0 && needed <= most));
        if (needed > 0) {
            const Best enough = best_of(logits, needed);
            REQUIRE(best.sample_best(enough.logits, enough.ids) == token);
            Best others = best_of(logits, most);
            std::reverse(others.logits.begin(), others.logits.end());
            std::reverse(others.ids.begin(), others.ids.end());
            REQUIRE(more.sample_best(others.logits, others.ids) == token);
            ++from_best;
        } else {
            REQUIRE(best.sample(logits) == token);
            REQUIRE(more.sample(logits) == token);
        }
        REQUIRE(best.state() == all.state());
        REQUIRE(more.state() == all.state());
        for (Sampler* sampler : {&all, &best, &more})
            sampler->accept(token);
    }
    return from_best;
}

std::string message(const std::function<void()>& fails)
{
    try {
        fails();
    } catch (const Error& error) {
        return error.what();
    }
    FAIL("nothing was thrown");
    return {};
}

} // namespace

TEST_CASE("sampling from the best logits chooses the same token as sampling from all", "[best]")
{
    std::mt19937 random(81);
    int from_best = 0, tokens = 0;
    for (int i = 0; i < (tests::at_ci_level() ? 60 : 300); ++i) {
        const Stream stream{one_of<size_t>({1, 2, 7, 40, 41, 100, 127, 128, 129, 500, 2000}, random),
                            random_options(random)};
        from_best += follow(stream, random);
        tokens += stream.tokens;
    }
    CHECK(from_best > tokens / 3); // otherwise this compares little
    CHECK(from_best < tokens);
}

TEST_CASE("for large vocabularies every token can be chosen from the best logits", "[best]")
{
    std::mt19937 random(82);
    const Stream all[] = {
        {32000, {.repeat_penalty = 1.3}},
        {32000, {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05, .repeat_penalty = 1.1, .seed = 3}},
        {130000, {.temperature = 1, .top_k = 128, .seed = 4}},
        {130000, {.temperature = 0.6, .top_k = 64, .top_p = 0.9, .repeat_penalty = 1.2, .seed = 5}}};
    for (const Stream& stream : all)
        if (stream.vocabulary < 100000 || !tests::at_ci_level()) CHECK(follow(stream, random) == stream.tokens);
}

TEST_CASE("best_needed() says how many of the best logits a token needs", "[best]")
{
    const auto needed = [](const SamplerOptions& options, const std::vector<TokenId>& accepted = {}) {
        Sampler sampler(options);
        for (TokenId token : accepted)
            sampler.accept(token);
        return sampler.best_needed();
    };
    CHECK(needed({}) == 1);
    CHECK(needed({.top_k = 5000}) == 1);
    CHECK(needed({.temperature = 1}) == 0);
    CHECK(needed({.temperature = 1, .top_p = 0.5, .min_p = 0.5}) == 0);
    CHECK(needed({.temperature = 1, .top_k = 40, .top_p = 0.5, .min_p = 0.5}) == 40);
    CHECK(needed({.temperature = 1, .top_k = most}) == most);
    CHECK(needed({.temperature = 1, .top_k = most + 1}) == 0);
    CHECK(needed({.repeat_penalty = 1.5}, {3, 4, 3}) == 3);
    CHECK(needed({.repeat_penalty = 1.5, .repeat_last = 1}, {3, 4, 3}) == 2);
    CHECK(needed({.repeat_penalty = 1.5, .repeat_last = 0}, {3, 4, 3}) == 1);
    CHECK(needed({.repeat_penalty = 1}, {3, 4, 3}) == 1);
    CHECK(needed({.repeat_penalty = 0.5}) == 1);
    CHECK(needed({.repeat_penalty = 0.5}, {3}) == 0);
    CHECK(needed({.temperature = 1, .top_k = most - 2, .repeat_penalty = 1.5}, {3, 4}) == most);
    CHECK(needed({.temperature = 1, .top_k = most - 2, .repeat_penalty = 1.5}, {3, 4, 5}) == 0);
}

TEST_CASE("top-k compares logits, even if their probabilities are equal after rounding", "[best]")
{
    Sampler sampler({.temperature = 100, .top_k = 2, .seed = 1});
    std::vector<int> seen(3);
    for (int i = 0; i < 200; ++i)
        ++seen[static_cast<size_t>(sampler.sample(std::vector<float>{1, 1e-20f, 2e-20f}))];
    CHECK(seen[0] > 0);
    CHECK(seen[1] == 0);
    CHECK(seen[2] > 0);
}

TEST_CASE("a logit that is not a number gives the same error from all logits and from the best ones", "[best]")
{
    const float nan = std::numeric_limits<float>::quiet_NaN();
    Sampler all({}), best({});
    const std::vector<std::byte> before = best.state();
    const std::string text = message([&] { all.sample(std::vector<float>{1, 2, nan, nan}); });
    CHECK(text == message([] { refuse_logit(2); }));
    CHECK(text == message([&] { best.sample_best(std::vector<float>{nan, 2}, std::vector<TokenId>{2, 1}); }));
    CHECK(best.state() == before);
}
