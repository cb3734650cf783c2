// Layer normalisation compared with float64, on every SIMD target.
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cpu/layer_norm.h"
#include "tests/support/catch.h"
#include "tests/support/every_target.h"

using palimpsest::kernels::cpu::layer_norm;
using palimpsest::kernels::cpu::LayerNorm;

namespace {

std::vector<float> random_numbers(size_t count, float mean, std::mt19937& random)
{
    std::normal_distribution<float> normal(mean, 1.0f);
    std::vector<float> values(count);
    for (float& v : values)
        v = normal(random);
    return values;
}

std::vector<double> expected_row(const std::vector<float>& x, const LayerNorm& norm)
{
    const auto count = static_cast<double>(x.size());
    double mean = 0, variance = 0;
    for (const float v : x)
        mean += static_cast<double>(v) / count;
    for (const float v : x)
        variance += std::pow(static_cast<double>(v) - mean, 2) / count;
    std::vector<double> y;
    for (size_t i = 0; i < x.size(); ++i)
        y.push_back((static_cast<double>(x[i]) - mean) / std::sqrt(variance + static_cast<double>(norm.epsilon)) *
                        static_cast<double>(norm.weight[i]) +
                    static_cast<double>(norm.bias[i]));
    return y;
}

} // namespace

TEST_CASE("layer normalisation agrees with float64 at every width", "[layer_norm]")
{
    std::mt19937 random(7);
    palimpsest::tests::on_every_target([&] {
        for (const size_t cols : {1u, 2u, 8u, 15u, 16u, 31u, 32u, 33u, 64u, 100u, 384u, 768u})
            for (const float mean : {0.0f, 30.0f})
                for (const float epsilon : {1e-12f, 1e-3f}) {
                    const auto weight = random_numbers(cols, 1, random), bias = random_numbers(cols, 0, random);
                    const LayerNorm norm{.weight = weight.data(), .bias = bias.data(), .epsilon = epsilon};
                    std::vector<float> x = random_numbers(cols, mean, random);
                    const auto expected = expected_row(x, norm);
                    layer_norm(norm, x.data(), static_cast<int64_t>(cols));
                    double worst = 0;
                    for (size_t i = 0; i < cols; ++i)
                        worst = std::max(worst, std::abs(static_cast<double>(x[i]) - expected[i]));
                    CAPTURE(cols, mean, epsilon);
                    // A mean of 30 costs the differences from it five bits.
                    CHECK(worst < (mean == 0 ? 5e-6 : 1e-4));
                }
    });
}

TEST_CASE("layer normalisation of equal numbers gives the bias", "[layer_norm]")
{
    palimpsest::tests::on_every_target([] {
        std::vector<float> x(40, 0.25f);
        const std::vector<float> weight(40, 3.0f), bias(40, -2.0f);
        layer_norm({.weight = weight.data(), .bias = bias.data()}, x.data(), 40);
        CHECK(x == bias);
    });
}
