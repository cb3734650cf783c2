#include "kernels/cpu/finish.h"

#include <algorithm>

#include "kernels/cpu/rms_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/finish.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
namespace hn = hwy::HWY_NAMESPACE;

template<class D>
HWY_INLINE void finish_at(D d, const RowFinish& finish, const float* x, bool add, float* y)
{
    auto value = hn::Mul(hn::LoadU(d, x), hn::Set(d, finish.factor));
    if (finish.soft_cap > 0) {
        const auto cap = hn::Set(d, finish.soft_cap);
        value = hn::Mul(cap, Tanh(d, hn::Div(value, cap)));
    }
    hn::StoreU(add ? hn::Add(hn::LoadU(d, y), value) : value, d, y);
}

// Applies factor and soft cap, but no norm, to `count` elements of x, and stores the results in y or, with `add`,
// adds them to y. Without `add`, y may be x.
void finish_elements(const RowFinish& finish, const float* x, int64_t count, bool add, float* y)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        finish_at(d, finish, x + i, add, y + i);
    for (; i < count; ++i)
        finish_at(hn::CappedTag<float, 1>(), finish, x + i, add, y + i);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {

HWY_EXPORT(finish_elements);

namespace {
// Columns per task, for rows without a norm: the logits of a single token are one row of 32,000 columns or more,
// which all threads share.
constexpr int64_t part_cols = 8192;
} // namespace

void finish_rows(const RowFinish& finish, float* product, int64_t rows, int64_t cols, float* sum,
                 CpuContext& context)
{
    const auto finish_part = HWY_DYNAMIC_DISPATCH(finish_elements);
    const bool normed = finish.norm.weight != nullptr;
    const int64_t width = normed ? cols : std::min(cols, part_cols), parts = (cols + width - 1) / width;
    const bool only_norm = !sum && finish.factor == 1.0f && finish.soft_cap <= 0;
    context.threads.run(rows * parts, [&](int64_t task, int) {
        const int64_t first = task % parts * width, at = task / parts * cols + first;
        if (normed) rms_norm(product + at, finish.norm, cols, product + at);
        if (only_norm) return;
        finish_part(finish, product + at, std::min(width, cols - first), sum != nullptr,
                    sum ? sum + at : product + at);
    });
}

} // namespace palimpsest::kernels::cpu
#endif
