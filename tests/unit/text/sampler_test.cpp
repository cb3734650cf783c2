#include "engine/session/sampler.h"

#include <cmath>
#include <limits>
#include <map>

#include "kernels/base/error.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

constexpr uint64_t seed = 20240607;

std::map<TokenId, int> draw(SamplerOptions options, const std::vector<float>& logits, int count)
{
    options.seed = seed;
    Sampler sampler(options);
    std::map<TokenId, int> seen;
    for (int i = 0; i < count; ++i)
        ++seen[sampler.sample(logits)];
    return seen;
}

std::vector<float> logits_of(const std::vector<double>& probabilities)
{
    std::vector<float> logits;
    for (double p : probabilities)
        logits.push_back(static_cast<float>(std::log(p) + 3));
    return logits;
}

double chi_square(const std::map<TokenId, int>& seen, const std::vector<double>& probabilities, int count)
{
    double sum = 0;
    for (size_t i = 0; i < probabilities.size(); ++i) {
        const auto found = seen.find(static_cast<TokenId>(i));
        const double expected = probabilities[i] * count;
        const double difference = (found == seen.end() ? 0 : found->second) - expected;
        if (expected > 0) sum += difference * difference / expected;
    }
    return sum;
}

std::vector<TokenId> keys(const std::map<TokenId, int>& seen)
{
    std::vector<TokenId> ids;
    for (const auto& [id, count] : seen)
        ids.push_back(id);
    return ids;
}

const std::vector<double> five = {0.4, 0.3, 0.15, 0.1, 0.05};

} // namespace

TEST_CASE("temperature 0 chooses the largest logit, and the lower id of equal ones")
{
    Sampler sampler(SamplerOptions{});
    CHECK(sampler.sample(std::vector<float>{1, 5, 5, -2}) == 1);
    CHECK(sampler.sample(std::vector<float>{-3}) == 0);
    CHECK(sampler.sample(std::vector<float>{-3e38f, -2e38f}) == 1);
}

TEST_CASE("tokens are drawn with their probabilities")
{
    constexpr int count = 40000;
    INFO("seed " << seed);
    // The 99.9 % quantile of chi-square with four degrees of freedom is 18.5.
    CHECK(chi_square(draw({.temperature = 1}, logits_of(five), count), five, count) < 18.5);
    CHECK(chi_square(draw({.temperature = 1}, logits_of(five), count), {0.35, 0.35, 0.15, 0.1, 0.05}, count) >
          18.5);

    std::vector<double> squared;
    double sum = 0;
    for (double p : five)
        sum += p * p;
    for (double p : five)
        squared.push_back(p * p / sum);
    CHECK(chi_square(draw({.temperature = 0.5}, logits_of(five), count), squared, count) < 18.5);

    const std::vector<double> three = {0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0};
    CHECK(chi_square(draw({.temperature = 1, .top_k = 3}, logits_of(five), count), three, count) < 18.5);
}

TEST_CASE("top-k, top-p and min-p keep the tokens that their definition names")
{
    using Ids = std::vector<TokenId>;
    const auto kept = [](SamplerOptions options) {
        options.temperature = 1;
        return keys(draw(options, logits_of(five), 3000));
    };
    CHECK(kept({.top_k = 1}) == Ids{0});
    CHECK(kept({.top_k = 2}) == Ids{0, 1});
    CHECK(kept({.top_k = 50}) == Ids{0, 1, 2, 3, 4});
    CHECK(kept({.top_p = 0.001}) == Ids{0});
    CHECK(kept({.top_p = 0.65}) == Ids{0, 1});
    CHECK(kept({.top_p = 0.72}) == Ids{0, 1, 2});       // the token that crosses the threshold is kept
    CHECK(kept({.top_k = 2, .top_p = 0.55}) == Ids{0}); // 0.4 of the 0.7 that top-k keeps
    CHECK(kept({.min_p = 0.3}) == Ids{0, 1, 2});
    CHECK(kept({.min_p = 1}) == Ids{0});
    CHECK(keys(draw({.temperature = 1, .top_k = 2}, {1, 1, 1, 1}, 500)) == Ids{0, 1}); // ties keep the lower id
}

TEST_CASE("top-p is correct if more tokens are kept than are sorted first")
{
    std::vector<float> flat(1000, 0.5f);
    const auto seen = draw({.temperature = 1, .top_p = 0.5}, flat, 4000);
    CHECK(seen.rbegin()->first < 500);
    CHECK(seen.size() > 400);
}

TEST_CASE("the repeat penalty applies to accepted tokens within its window")
{
    const std::vector<float> logits = {2, 1.9f, -1};
    Sampler sampler({.repeat_penalty = 1.5, .repeat_last = 2});
    CHECK(sampler.sample(logits) == 0);
    CHECK(sampler.sample(logits) == 0); // nothing was accepted
    sampler.accept(0);
    CHECK(sampler.sample(logits) == 1);
    sampler.accept(1);
    CHECK(sampler.sample(logits) == 0);
    sampler.accept(2);
    sampler.accept(2);
    CHECK(sampler.sample(logits) == 0); // 0 is outside of the window
    sampler.accept(-1);
    sampler.accept(77); // ids outside of the logits are ignored
    CHECK(sampler.sample(logits) == 0);

    Sampler negative({.repeat_penalty = 2});
    negative.accept(0);
    CHECK(negative.sample(std::vector<float>{-1, -1.5f}) == 1); // -1 becomes -2
}

TEST_CASE("the same seed draws the same tokens, and a restored state continues them")
{
    const std::vector<float> logits(100, 0.0f);
    SamplerOptions options{.temperature = 1, .repeat_penalty = 1.2, .seed = 5};
    Sampler first(options), second(options);
    for (int i = 0; i < 100; ++i) {
        const TokenId token = first.sample(logits);
        CHECK(token == second.sample(logits));
        first.accept(token);
        second.accept(token);
    }
    const std::vector<std::byte> state = first.state();
    options.seed = 6;
    Sampler restored(options);
    restored.restore(state);
    CHECK(restored.state() == state);
    for (int i = 0; i < 100; ++i) {
        const TokenId token = first.sample(logits);
        CHECK(token == restored.sample(logits));
        first.accept(token);
        restored.accept(token);
    }
    Sampler other(options);
    CHECK(other.state() != second.state());
}

TEST_CASE("a state that does not fit is refused and changes nothing")
{
    Sampler sampler({.temperature = 1, .repeat_last = 3, .seed = 9});
    sampler.accept(4);
    const std::vector<std::byte> before = sampler.state();
    std::vector<std::byte> longer = before, shorter = before;
    longer.push_back(std::byte{0});
    shorter.pop_back();
    Sampler large({.repeat_last = 10});
    for (int i = 0; i < 8; ++i)
        large.accept(i);
    for (const auto& bad : {longer, shorter, large.state(), std::vector<std::byte>{}}) {
        CHECK_THROWS_AS(sampler.restore(bad), Error);
        CHECK(sampler.state() == before);
    }
}

TEST_CASE("logits that are not finite numbers are refused")
{
    const float bad = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity());
    Sampler sampler(SamplerOptions{});
    try {
        sampler.sample(std::vector<float>{0, bad, 1});
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::ModelG15);
    }
}

TEST_CASE("an option that is out of range is named in the error")
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::pair<SamplerOptions, Setting>> all = {
        {{.temperature = -0.1}, Setting::Temperature},
        {{.temperature = nan}, Setting::Temperature},
        {{.temperature = 101}, Setting::Temperature},
        {{.top_k = -1}, Setting::TopK},
        {{.top_p = 0}, Setting::TopP},
        {{.top_p = 1.1}, Setting::TopP},
        {{.min_p = -0.1}, Setting::MinP},
        {{.min_p = 1.1}, Setting::MinP},
        {{.repeat_penalty = 0}, Setting::RepeatPenalty},
        {{.repeat_penalty = nan}, Setting::RepeatPenalty},
        {{.repeat_last = -1}, Setting::RepeatLast},
    };
    for (const auto& [options, setting] : all) {
        try {
            Sampler sampler(options);
            FAIL("accepted");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::Usage);
            CHECK(error.subject() == Text(setting));
        }
    }
}
