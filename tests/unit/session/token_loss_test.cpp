// The loss of one token, from the logits before it.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/session/token_loss.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"

using palimpsest::engine::negative_log_likelihood;
using palimpsest::engine::TokenId;
using palimpsest::engine::TokenLosses;

TEST_CASE("a token's loss is minus the logarithm of its probability")
{
    const std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f)}; // probabilities 1/8, 2/8 and 5/8
    CHECK(negative_log_likelihood(logits, 0) == Approx(std::log(8.0)));
    CHECK(negative_log_likelihood(logits, 1) == Approx(std::log(4.0)));
    CHECK(negative_log_likelihood(logits, 2) == Approx(std::log(1.6)));
    CHECK(negative_log_likelihood(std::vector<float>{7}, 0) == 0);
    // Large logits, whose exp overflows or is zero.
    CHECK(negative_log_likelihood(std::vector<float>{3e4f, 3e4f}, 1) == Approx(std::log(2.0)));
    CHECK(negative_log_likelihood(std::vector<float>{-3e4f, -3e4f}, 0) == Approx(std::log(2.0)));
    CHECK(negative_log_likelihood(std::vector<float>{3e4f, -3e4f}, 1) == Approx(6e4));
}

TEST_CASE("the losses of many tokens are those of each one, on any number of threads")
{
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    constexpr size_t vocabulary = 1001, rows = 70;
    std::vector<float> logits(rows * vocabulary);
    for (float& x : logits)
        x = 5 * normal(random);
    std::vector<TokenId> tokens(rows);
    for (TokenId& token : tokens)
        token = static_cast<TokenId>(random() % vocabulary);
    for (const int threads : {1, 2, 7}) {
        TokenLosses losses(threads);
        for (const size_t count : {rows, size_t{1}, size_t{0}}) {
            const auto got =
                losses.compute(std::span(logits).first(count * vocabulary), std::span(tokens).first(count));
            REQUIRE(got.size() == count);
            for (size_t r = 0; r < count; ++r)
                CHECK(got[r] ==
                      negative_log_likelihood(std::span(logits).subspan(r * vocabulary, vocabulary), tokens[r]));
        }
        logits[3 * vocabulary] = std::numeric_limits<float>::quiet_NaN();
        CHECK_THROWS_WITH(losses.compute(logits, tokens), Catch::Contains("PAL-MODEL-15"));
        logits[3 * vocabulary] = 0;
    }
}

TEST_CASE("logits that are not finite numbers have no loss")
{
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    for (const std::vector<float>& logits :
         {std::vector<float>{nan, 1}, {1, nan}, {inf, 1}, {1, inf}, {-inf, -inf}, {-inf, 1}}) {
        CAPTURE(logits);
        CHECK_THROWS_WITH(negative_log_likelihood(logits, 0), Catch::Contains("PAL-MODEL-15"));
    }
}
