#include "kernels/cpu/gemv.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemv.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/q8_0-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // each file has its own
namespace hn = hwy::HWY_NAMESPACE;

template<DType type>
HWY_INLINE float dot(const std::byte* HWY_RESTRICT w, const float* HWY_RESTRICT x, int64_t cols)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = 0;
    for (; i + 4 * lanes <= cols; i += 4 * lanes) {
        s0 = hn::MulAdd(LoadWide<type>(d, w, i), hn::LoadU(d, x + i), s0);
        s1 = hn::MulAdd(LoadWide<type>(d, w, i + lanes), hn::LoadU(d, x + i + lanes), s1);
        s2 = hn::MulAdd(LoadWide<type>(d, w, i + 2 * lanes), hn::LoadU(d, x + i + 2 * lanes), s2);
        s3 = hn::MulAdd(LoadWide<type>(d, w, i + 3 * lanes), hn::LoadU(d, x + i + 3 * lanes), s3);
    }
    for (; i + lanes <= cols; i += lanes) s0 = hn::MulAdd(LoadWide<type>(d, w, i), hn::LoadU(d, x + i), s0);
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < cols; ++i) {
        float wide;
        to_f32(type, w + row_bytes(type, i), &wide, 1);
        sum += wide * x[i];
    }
    return sum;
}

// The scale meets the sum of its block, not every weight.
template<>
HWY_INLINE float dot<DType::Q8_0>(const std::byte* HWY_RESTRICT w, const float* HWY_RESTRICT x, int64_t cols)
{
    const hn::CappedTag<float, q8_0_weights> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto even = hn::Zero(d), odd = even;
    const auto add_block = [&](const std::byte* block, const float* xs, auto sum) HWY_ATTR {
        auto partial = hn::Mul(Q8Bytes(d, block, 0), hn::LoadU(d, xs));
        for (int64_t j = lanes; j < q8_0_weights; j += lanes)
            partial = hn::MulAdd(Q8Bytes(d, block, j), hn::LoadU(d, xs + j), partial);
        return hn::MulAdd(partial, Q8Scale(d, block), sum);
    };
    int64_t i = 0;
    for (; i + 2 * q8_0_weights <= cols; i += 2 * q8_0_weights, w += 2 * q8_0_bytes) {
        even = add_block(w, x + i, even);
        odd = add_block(w + q8_0_bytes, x + i + q8_0_weights, odd);
    }
    if (i < cols) even = add_block(w, x + i, even);
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

// One weight row after the other: a second stream from memory per thread would slow both down.
template<DType type>
void dot_rows_of(const std::byte* w, int64_t stride, int64_t rows, const float* x, int64_t cols, float* dots)
{
    for (int64_t r = 0; r < rows; ++r) dots[r] = dot<type>(w + r * stride, x, cols);
}

void dot_rows(DType type, const std::byte* w, int64_t stride, int64_t rows, const float* x, int64_t cols, float* dots)
{
    switch (type) {
    case DType::F32: return dot_rows_of<DType::F32>(w, stride, rows, x, cols, dots);
    case DType::F16: return dot_rows_of<DType::F16>(w, stride, rows, x, cols, dots);
    case DType::BF16: return dot_rows_of<DType::BF16>(w, stride, rows, x, cols, dots);
    case DType::Q8_0: return dot_rows_of<DType::Q8_0>(w, stride, rows, x, cols, dots);
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {
namespace {

HWY_EXPORT(dot_rows);

constexpr int64_t group_rows = 16;

int64_t groups_of(const CpuWeight::Part& part) { return (part.matrix.rows + group_rows - 1) / group_rows; }

// One group of rows of a part, in the order they are stored.
void multiply_group(const Product& p, const CpuWeight::Part& part, int64_t group, const float* x, float* y)
{
    float dots[group_rows];
    const int64_t begin = group * group_rows, end = std::min(begin + group_rows, part.matrix.rows);
    HWY_DYNAMIC_DISPATCH(dot_rows)(part.matrix.type, part.stored(begin), part.stride, end - begin, x, p.x.cols, dots);
    for (int64_t stored = begin; stored < end; ++stored) {
        const int64_t row = part.first_row + part.row_of(stored);
        const float value = dots[stored - begin] + (p.bias ? p.bias[row] : 0.0f);
        y[row] = p.accumulate ? y[row] + value : value;
    }
}

// The groups of all parts are numbered through; a thread takes one run of them, so that it reads memory in one stream.
void multiply_groups(const Product& p, const float* x, float* y, int64_t begin, int64_t end)
{
    int64_t first = 0;
    for (const CpuWeight::Part& part : p.weight->parts()) {
        const int64_t count = groups_of(part);
        for (int64_t g = std::max(begin, first); g < std::min(end, first + count); ++g)
            multiply_group(p, part, g - first, x, y);
        first += count;
    }
}

} // namespace

void gemv(const Product& product, CpuContext& context)
{
    int64_t groups = 0;
    for (const CpuWeight::Part& part : product.weight->parts()) groups += groups_of(part);
    const int64_t runs = std::min<int64_t>(groups, context.threads.threads());
    float* made = context.shared_scratch(ScratchUse::NormedRows).get<float>(static_cast<size_t>(product.x.cols));
    for (int64_t r = 0; r < product.x.rows; ++r) {
        if (!product.x.is_plain()) product.x.make(r, made);
        const float* x = product.x.is_plain() ? product.x.in_memory(r) : made;
        float* y = product.y + r * product.weight->rows();
        context.threads.run(runs, [&](int64_t run, int) {
            multiply_groups(product, x, y, groups * run / runs, groups * (run + 1) / runs);
        });
    }
}

} // namespace palimpsest::kernels::cpu
#endif
