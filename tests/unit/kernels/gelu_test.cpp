// The vector error function, and GELU with it, compared with float64 on every SIMD target.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cpu/gelu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/kernels/gelu_test.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/erf-inl.h"
#include "tests/support/of_all-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace {

// REQUIRES: count is a multiple of 16.
void erf_of_all(float* x, int64_t count)
{
    tests::HWY_NAMESPACE::OfAll(x, count, [](auto d, auto v) HWY_ATTR { return Erf(d, v); });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tests/support/every_target.h"

namespace palimpsest::kernels {
HWY_EXPORT(erf_of_all);

namespace {

std::vector<float> arguments()
{
    std::vector<float> x = {0.0f};
    for (int i = -90000; i < 6000; ++i) { // 3e-20 to 20
        const auto v = static_cast<float>(std::exp(0.0005 * i));
        x.insert(x.end(), {v, -v});
    }
    for (int i = 0; i < 20000; ++i)
        x.push_back(3.9f + 1e-5f * static_cast<float>(i));
    return x;
}

} // namespace

TEST_CASE("the error function has a relative error of at most 5e-7 on every target", "[gelu]")
{
    const auto erf_of = [](float* values, int64_t count) { HWY_DYNAMIC_DISPATCH(erf_of_all)(values, count); };
    tests::on_every_target([&] {
        const double worst = tests::worst_error(arguments(), 1, erf_of, [](double v, double result) {
            return v == 0 ? std::abs(result) : std::abs(result / std::erf(v) - 1);
        });
        CHECK(worst < 5e-7);
        CHECK(worst > 1e-8); // a smaller error would be worth knowing
    });
}

TEST_CASE("the error function of infinities, NaN, zeros and large numbers", "[gelu]")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    tests::on_every_target([&] {
        std::vector<float> x = {infinity, 3e38f, 4, -infinity, -3e38f, -4, -0.0f, std::nanf("")};
        x.resize(16);
        HWY_DYNAMIC_DISPATCH(erf_of_all)(x.data(), 16);
        for (size_t i = 0; i < 3; ++i) {
            CHECK(x[i] == 1.0f);
            CHECK(x[i + 3] == -1.0f);
        }
        CHECK(std::signbit(x[6]));
        CHECK(x[6] == 0.0f);
        CHECK(std::isnan(x[7]));
    });
}

TEST_CASE("GELU is within 3e-7 of its argument, at every length", "[gelu]")
{
    tests::on_every_target([] {
        for (const size_t count : {1u, 3u, 15u, 16u, 17u, 31u, 64u, 100u, 40000u}) {
            std::vector<float> x = arguments();
            x.resize(count, 0.5f);
            std::vector<float> y = x;
            y.push_back(7); // beyond the end
            cpu::gelu(y.data(), static_cast<int64_t>(count));
            CHECK(y.back() == 7);
            double worst = 0;
            for (size_t i = 0; i < count; ++i) {
                const auto v = static_cast<double>(x[i]);
                const double expected = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
                const double error = std::abs(static_cast<double>(y[i]) - expected);
                worst = std::max(worst, v == 0 ? error : error / std::abs(v));
            }
            CAPTURE(count);
            CHECK(worst <= 3e-7);
        }
    });
}

} // namespace palimpsest::kernels
#endif
