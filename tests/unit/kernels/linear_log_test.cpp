// The vector logarithm against float64, on every target.
#include <cmath>
#include <cstdint>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/kernels/linear_log_test.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/log-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace {

// REQUIRES: count is a multiple of 16.
void log_of_all(float* x, int64_t count)
{
    const hwy::HWY_NAMESPACE::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
    for (int64_t i = 0; i < count; i += lanes)
        hwy::HWY_NAMESPACE::StoreU(Log(d, hwy::HWY_NAMESPACE::LoadU(d, x + i)), d, x + i);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/simd_target.h"
#include "tests/support/catch.h"

namespace palimpsest::kernels {
HWY_EXPORT(log_of_all);

TEST_CASE("log is within 2 units in the last place on every target", "[log]")
{
    for (const auto& target : simd_targets()) {
        pin_simd_target(target);
        std::vector<float> x;
        for (float v = 0x1p-126f; v < 1e38f; v *= 1.00013f)
            x.push_back(v);
        for (float v = 0.7f; v < 1.5f; v += 1e-5f)
            x.push_back(v);
        x.resize((x.size() + 15) / 16 * 16, 1.0f);
        std::vector<float> y = x;
        HWY_DYNAMIC_DISPATCH(log_of_all)(y.data(), static_cast<int64_t>(y.size()));
        double worst = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double expected = std::log(static_cast<double>(x[i]));
            const double error = std::abs(static_cast<double>(y[i]) - expected);
            worst = std::max(worst, error / std::max(std::abs(expected), 0.35));
        }
        INFO(target << ": largest error " << worst);
        CHECK(worst < 2.4e-7);
        CHECK(y.back() == 0.0f);
    }
    pin_simd_target("");
}

} // namespace palimpsest::kernels
#endif
