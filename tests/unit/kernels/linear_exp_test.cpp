// The vector exponential against float64, on every target.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/kernels/linear_exp_test.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace {

// REQUIRES: count is a multiple of 16.
void exp_of_all(float* x, int64_t count)
{
    const hwy::HWY_NAMESPACE::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
    for (int64_t i = 0; i < count; i += lanes)
        hwy::HWY_NAMESPACE::StoreU(Exp(d, hwy::HWY_NAMESPACE::LoadU(d, x + i)), d, x + i);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/simd_target.h"
#include "tests/support/catch.h"

namespace palimpsest::kernels {
HWY_EXPORT(exp_of_all);

TEST_CASE("exp is within 2 units in the last place on every target", "[exp]")
{
    for (const auto& target : simd_targets()) {
        pin_simd_target(target);
        std::vector<float> x;
        for (float v = -87.33f; v <= 88.0f; v += 0.00037f)
            x.push_back(v);
        x.resize((x.size() + 15) / 16 * 16, 0.0f);
        std::vector<float> y = x;
        HWY_DYNAMIC_DISPATCH(exp_of_all)(y.data(), static_cast<int64_t>(y.size()));
        double worst = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double expected = std::exp(static_cast<double>(x[i]));
            worst = std::max(worst, std::abs(static_cast<double>(y[i]) - expected) / expected);
        }
        INFO(target << ": largest relative error " << worst);
        CHECK(worst < 1.2e-7);
    }
    pin_simd_target("");
}

TEST_CASE("exp at its edges", "[exp]")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const auto& target : simd_targets()) {
        pin_simd_target(target);
        INFO(target);
        std::vector<float> x(16, 0.0f);
        x = {-infinity, -1e30f, -1000, -88, -87.5f, -0.0f, 0, 88, std::nanf(""), 1, 0, 0, 0, 0, 0, 0};
        HWY_DYNAMIC_DISPATCH(exp_of_all)(x.data(), 16);
        for (int i = 0; i < 5; ++i)
            CHECK(x[static_cast<size_t>(i)] == 0.0f);
        CHECK(x[5] == 1.0f);
        CHECK(x[6] == 1.0f);
        CHECK(x[7] == Approx(std::exp(88.0)).epsilon(1e-6));
        CHECK(std::isnan(x[8]));
    }
    pin_simd_target("");
}

} // namespace palimpsest::kernels
#endif
