// The vector exponential compared with float64, on every SIMD target.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/kernels/linear_exp_test.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"
#include "tests/support/of_all-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace {

// REQUIRES: count is a multiple of 16.
void exp_of_all(float* x, int64_t count)
{
    tests::HWY_NAMESPACE::OfAll(x, count, [](auto d, auto v) HWY_ATTR { return Exp(d, v); });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tests/support/every_target.h"

namespace palimpsest::kernels {
HWY_EXPORT(exp_of_all);

TEST_CASE("exp is within 2 units in the last place on every target", "[exp]")
{
    std::vector<float> x;
    for (float v = -87.33f; v <= 88.0f; v += 0.00037f)
        x.push_back(v);
    const auto exp_of = [](float* values, int64_t count) { HWY_DYNAMIC_DISPATCH(exp_of_all)(values, count); };
    tests::on_every_target([&] {
        CHECK(tests::worst_error(x, 0, exp_of, [](double v, double result) {
                  const double expected = std::exp(v);
                  return std::abs(result - expected) / expected;
              }) < 1.2e-7);
    });
}

TEST_CASE("exp of infinities, NaN, zeros and the largest argument", "[exp]")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    tests::on_every_target([&] {
        std::vector<float> x = {-infinity,     -1e30f, -1000, -88, -87.5f, -0.0f, 0, 88,
                                std::nanf(""), 1,      0,     0,   0,      0,     0, 0};
        HWY_DYNAMIC_DISPATCH(exp_of_all)(x.data(), 16);
        for (size_t i = 0; i < 5; ++i)
            CHECK(x[i] == 0.0f);
        CHECK(x[5] == 1.0f);
        CHECK(x[6] == 1.0f);
        CHECK(x[7] == Approx(std::exp(88.0)).epsilon(1e-6));
        CHECK(std::isnan(x[8]));
    });
}

} // namespace palimpsest::kernels
#endif
