// The loss of one token, from the logits before it.
#include <cmath>
#include <limits>
#include <vector>

#include "engine/session/token_loss.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"

using palimpsest::Error;
using palimpsest::engine::negative_log_likelihood;

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

TEST_CASE("logits that are not finite numbers have no loss")
{
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    for (const std::vector<float>& logits :
         {std::vector<float>{nan, 1}, {1, nan}, {inf, 1}, {1, inf}, {-inf, -inf}, {-inf, 1}}) {
        CAPTURE(logits);
        CHECK_THROWS_WITH(negative_log_likelihood(logits, 0), Catch::Contains("PAL-MODEL-15"));
    }
}
