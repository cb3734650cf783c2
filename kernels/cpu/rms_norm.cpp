#include "kernels/cpu/rms_norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rms_norm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
namespace hn = hwy::HWY_NAMESPACE;

// Keeps four sums, whose chains of additions are shorter and round less than one long sum.
float sum_of_squares(const float* HWY_RESTRICT x, int64_t count)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
        const auto x0 = hn::LoadU(d, x + i), x1 = hn::LoadU(d, x + i + lanes);
        const auto x2 = hn::LoadU(d, x + i + 2 * lanes), x3 = hn::LoadU(d, x + i + 3 * lanes);
        s0 = hn::MulAdd(x0, x0, s0);
        s1 = hn::MulAdd(x1, x1, s1);
        s2 = hn::MulAdd(x2, x2, s2);
        s3 = hn::MulAdd(x3, x3, s3);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < count; ++i)
        sum += x[i] * x[i];
    return sum;
}

void rms_norm(const float* x, const RmsNorm& norm, int64_t cols, float* y)
{
    const float inverse = 1.0f / std::sqrt(sum_of_squares(x, cols) / static_cast<float>(cols) + norm.epsilon);
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto factor = hn::Set(d, inverse);
    int64_t i = 0;
    for (; i + lanes <= cols; i += lanes)
        hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), factor), hn::LoadU(d, norm.weight + i)), d, y + i);
    for (; i < cols; ++i)
        y[i] = x[i] * inverse * norm.weight[i];
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {

HWY_EXPORT(rms_norm);

void rms_norm(const float* x, const RmsNorm& norm, int64_t cols, float* y)
{
    HWY_DYNAMIC_DISPATCH(rms_norm)(x, norm, cols, y);
}

} // namespace palimpsest::kernels::cpu
#endif
