
#include <cmath>
#include <numbers>

#include "engine/model/config/rope_factors.h"
#include "tests/support/catch.h"

using namespace palimpsest::engine;

TEST_CASE("linear scaling uses the same factor for every frequency")
{
    CHECK(linear_rope_factors(8, 2.5) == std::vector<float>(4, 2.5f));
}

TEST_CASE("llama3 scaling keeps fast frequencies, divides slow ones and interpolates between them")
{
    const Llama3Scaling scaling; // defaults: those of Llama 3.1
    const auto factors = llama3_rope_factors(128, 500000.0, scaling);
    REQUIRE(factors.size() == 64);
    CHECK(factors.front() == 1.0f);
    CHECK(factors.back() == 8.0f);
    int between = 0;
    for (size_t i = 0; i < factors.size(); ++i) {
        const double wavelength = 2 * std::numbers::pi * std::pow(500000.0, static_cast<double>(i) / 64.0);
        if (wavelength < 8192.0 / 4) CHECK(factors[i] == 1.0f);
        if (wavelength > 8192.0) CHECK(factors[i] == 8.0f);
        if (i > 0) CHECK(factors[i] >= factors[i - 1]);
        between += factors[i] > 1.0f && factors[i] < 8.0f;
    }
    CHECK(between == 6);
    // With 2.5 rotations, half-way between 1 and 4, both frequencies count half: 1 / (0.5 / 8 + 0.5).
    const double base = std::pow(8192.0 / (2.5 * 2 * std::numbers::pi), 2.0); // 2.5 rotations of entry 1
    CHECK(llama3_rope_factors(4, base, scaling)[1] == Approx(1.0 / (0.5 / 8 + 0.5)));
}
