#include "kernels/cpu/layer_norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
namespace hn = hwy::HWY_NAMESPACE;

// Subtracts `shift` from the row and returns the sum of the results' first powers, or of their squares. Two sums
// have shorter chains of additions and round less than one.
template<bool squares>
float shift_row(float* HWY_RESTRICT x, int64_t cols, float shift)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto shifts = hn::Set(d, shift);
    const auto add = [](auto sum, auto v) HWY_ATTR { return squares ? hn::MulAdd(v, v, sum) : hn::Add(sum, v); };
    auto s0 = hn::Zero(d), s1 = s0;
    int64_t i = 0;
    for (; i + 2 * lanes <= cols; i += 2 * lanes) {
        const auto x0 = hn::Sub(hn::LoadU(d, x + i), shifts), x1 = hn::Sub(hn::LoadU(d, x + i + lanes), shifts);
        hn::StoreU(x0, d, x + i);
        hn::StoreU(x1, d, x + i + lanes);
        s0 = add(s0, x0);
        s1 = add(s1, x1);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
    for (; i < cols; ++i) {
        x[i] -= shift;
        sum += squares ? x[i] * x[i] : x[i];
    }
    return sum;
}

void layer_norm(const cpu::LayerNorm& norm, float* x, int64_t cols)
{
    const auto count = static_cast<float>(cols);
    const float mean = shift_row<false>(x, cols, 0.0f) / count;
    const float variance = shift_row<true>(x, cols, mean) / count;
    const float inverse = 1.0f / std::sqrt(variance + norm.epsilon);
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto factor = hn::Set(d, inverse);
    int64_t i = 0;
    for (; i + lanes <= cols; i += lanes) {
        const auto scaled = hn::Mul(hn::LoadU(d, x + i), factor);
        hn::StoreU(hn::MulAdd(scaled, hn::LoadU(d, norm.weight + i), hn::LoadU(d, norm.bias + i)), d, x + i);
    }
    for (; i < cols; ++i)
        x[i] = x[i] * inverse * norm.weight[i] + norm.bias[i];
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {

HWY_EXPORT(layer_norm);

void layer_norm(const LayerNorm& norm, float* x, int64_t cols)
{
    HWY_DYNAMIC_DISPATCH(layer_norm)(norm, x, cols);
}

} // namespace palimpsest::kernels::cpu
#endif
