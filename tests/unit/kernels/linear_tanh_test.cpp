// The vector hyperbolic tangent compared with float64, on every SIMD target.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/kernels/linear_tanh_test.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/tanh-inl.h"
#include "tests/support/of_all-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace {

// REQUIRES: count is a multiple of 16.
void tanh_of_all(float* x, int64_t count)
{
    tests::HWY_NAMESPACE::OfAll(x, count, [](auto d, auto v) HWY_ATTR { return Tanh(d, v); });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tests/support/every_target.h"

namespace palimpsest::kernels {
HWY_EXPORT(tanh_of_all);

TEST_CASE("tanh is within 4 units in the last place on every target", "[tanh]")
{
    std::vector<float> x;
    for (float v = 1e-30f; v < 12.0f; v *= 1.0003f) {
        x.push_back(v);
        x.push_back(-v);
    }
    for (float v = 0.6f; v < 0.65f; v += 1e-6f)
        x.push_back(v);
    const auto tanh_of = [](float* values, int64_t count) { HWY_DYNAMIC_DISPATCH(tanh_of_all)(values, count); };
    tests::on_every_target([&] {
        CHECK(tests::worst_error(x, 1, tanh_of, [](double v, double result) {
                  const double expected = std::tanh(v);
                  return std::abs((result - expected) / expected);
              }) < 2.4e-7);
    });
}

TEST_CASE("tanh of infinities, NaN, zeros and large numbers", "[tanh]")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    tests::on_every_target([&] {
        std::vector<float> x = {infinity,      1e30f, 20, -infinity, -1e30f, -20, 0, -0.0f,
                                std::nanf(""), 0,     0,  0,         0,      0,   0, 0};
        HWY_DYNAMIC_DISPATCH(tanh_of_all)(x.data(), 16);
        for (size_t i = 0; i < 3; ++i) {
            CHECK(x[i] == 1.0f);
            CHECK(x[i + 3] == -1.0f);
        }
        CHECK(x[6] == 0.0f);
        CHECK(std::signbit(x[7]));
        CHECK(x[7] == 0.0f);
        CHECK(std::isnan(x[8]));
    });
}

} // namespace palimpsest::kernels
#endif
