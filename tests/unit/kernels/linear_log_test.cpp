// The vector logarithm compared with float64, on every SIMD target.
#include <cmath>
#include <cstdint>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/kernels/linear_log_test.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/log-inl.h"
#include "tests/support/of_all-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace {

// REQUIRES: count is a multiple of 16.
void log_of_all(float* x, int64_t count)
{
    tests::HWY_NAMESPACE::OfAll(x, count, [](auto d, auto v) HWY_ATTR { return Log(d, v); });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tests/support/every_target.h"

namespace palimpsest::kernels {
HWY_EXPORT(log_of_all);

TEST_CASE("log is within 2 units in the last place on every target", "[log]")
{
    std::vector<float> x;
    for (float v = 0x1p-126f; v < 1e38f; v *= 1.00013f)
        x.push_back(v);
    for (float v = 0.7f; v < 1.5f; v += 1e-5f)
        x.push_back(v);
    const auto log_of = [](float* values, int64_t count) { HWY_DYNAMIC_DISPATCH(log_of_all)(values, count); };
    tests::on_every_target([&] {
        CHECK(tests::worst_error(x, 1, log_of, [](double v, double result) {
                  const double expected = std::log(v);
                  return std::abs(result - expected) / std::max(std::abs(expected), 0.35);
              }) < 2.4e-7);
        std::vector<float> ones(16, 1.0f);
        log_of(ones.data(), 16);
        CHECK(ones == std::vector<float>(16, 0.0f));
    });
}

} // namespace palimpsest::kernels
#endif
