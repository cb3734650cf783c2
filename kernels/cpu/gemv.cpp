#include "kernels/cpu/gemv.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemv.cpp"
#include "hwy/cache_control.h"
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
    for (; i + lanes <= cols; i += lanes)
        s0 = hn::MulAdd(LoadWide<type>(d, w, i), hn::LoadU(d, x + i), s0);
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < cols; ++i) {
        float wide;
        to_f32(type, w + row_bytes(type, i), &wide, 1);
        sum += wide * x[i];
    }
    return sum;
}

// The scale meets the sum of its block, not every weight. Four chains of sums hide the latency of the multiply-adds;
// the lines a little ahead are asked for, since the hardware stops at the end of every page.
template<>
HWY_INLINE float dot<DType::Q8_0>(const std::byte* HWY_RESTRICT w, const float* HWY_RESTRICT x, int64_t cols)
{
    constexpr int chains = 4, ahead = 2048;
    const hn::CappedTag<float, q8_0_weights> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto add_block = [&](const std::byte* block, const float* xs, auto sum) HWY_ATTR {
        auto partial = hn::Mul(Q8Bytes(d, block, 0), hn::LoadU(d, xs));
        for (int64_t j = lanes; j < q8_0_weights; j += lanes)
            partial = hn::MulAdd(Q8Bytes(d, block, j), hn::LoadU(d, xs + j), partial);
        return hn::MulAdd(partial, Q8Scale(d, block), sum);
    };
    hn::Vec<decltype(d)> sums[chains];
    for (auto& sum : sums)
        sum = hn::Zero(d);
    int64_t i = 0;
    for (; i + chains * q8_0_weights <= cols; i += chains * q8_0_weights, w += chains * q8_0_bytes) {
        for (int64_t line = 0; line < chains * q8_0_bytes; line += 64)
            hwy::Prefetch(w + ahead + line);
        for (int c = 0; c < chains; ++c)
            sums[c] = add_block(w + c * q8_0_bytes, x + i + c * q8_0_weights, sums[c]);
    }
    for (; i < cols; i += q8_0_weights, w += q8_0_bytes)
        sums[0] = add_block(w, x + i, sums[0]);
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}

// Activations wider than this do not stay in a first-level cache of 32 kB beside the weights that stream through
// it.
constexpr int64_t narrow_cols = 4096;
constexpr int rows_abreast = 8;

// row_bytes, without a call.
template<DType type>
HWY_INLINE int64_t bytes_before(int64_t elements)
{
    if constexpr (type == DType::Q8_0)
        return elements / q8_0_weights * q8_0_bytes;
    else
        return elements * (type == DType::F32 ? 4 : 2);
}

// sums[r] += row r of W times x, for one block of columns that starts at byte `w` of row 0.
template<DType type, class D, class V>
HWY_INLINE void add_products(D d, const std::byte* HWY_RESTRICT w, int64_t stride, const float* HWY_RESTRICT x,
                             V (&sums)[rows_abreast])
{
    const auto xs = hn::LoadU(d, x);
#pragma GCC unroll 8
    for (int r = 0; r < rows_abreast; ++r)
        sums[r] = hn::MulAdd(LoadWide<type>(d, w + r * stride, 0), xs, sums[r]);
}

template<class D, class V>
HWY_INLINE void add_q8_0_products(D d, const std::byte* HWY_RESTRICT w, int64_t stride, const float* HWY_RESTRICT x,
                                  V (&sums)[rows_abreast])
{
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
#pragma GCC unroll 8
    for (int r = 0; r < rows_abreast; ++r) {
        const std::byte* block = w + r * stride;
        __builtin_prefetch(block + 1024, 0, 2); // to the second level: eight streams are too many for the hardware
        auto partial = hn::Mul(Q8Bytes(d, block, 0), hn::LoadU(d, x));
        for (int64_t j = lanes; j < q8_0_weights; j += lanes)
            partial = hn::MulAdd(Q8Bytes(d, block, j), hn::LoadU(d, x + j), partial);
        sums[r] = hn::MulAdd(partial, Q8Scale(d, block), sums[r]);
    }
}

// Rows abreast use every load of x for all of them. Each row has one chain of sums, which is cut every 1024
// columns: rounding errors grow with its length.
template<DType type>
HWY_INLINE void dot_abreast(const std::byte* HWY_RESTRICT w, int64_t stride, const float* HWY_RESTRICT x,
                            int64_t cols, float* HWY_RESTRICT dots)
{
    constexpr int64_t chain = 1024;
    const hn::CappedTag<float, q8_0_weights> d;
    const int64_t step = type == DType::Q8_0 ? q8_0_weights : static_cast<int64_t>(hn::Lanes(d));
    hn::Vec<decltype(d)> totals[rows_abreast];
    for (auto& total : totals)
        total = hn::Zero(d);
    int64_t i = 0;
    while (i + step <= cols) {
        hn::Vec<decltype(d)> sums[rows_abreast];
        for (auto& sum : sums)
            sum = hn::Zero(d);
        for (const int64_t end = std::min(i + chain, cols); i + step <= end; i += step) {
            const std::byte* at = w + bytes_before<type>(i);
            if constexpr (type == DType::Q8_0)
                add_q8_0_products(d, at, stride, x + i, sums);
            else
                add_products<type>(d, at, stride, x + i, sums);
        }
        for (int r = 0; r < rows_abreast; ++r)
            totals[r] = hn::Add(totals[r], sums[r]);
    }
    for (int r = 0; r < rows_abreast; ++r) {
        dots[r] = hn::GetLane(hn::SumOfLanes(d, totals[r]));
        if (i < cols) dots[r] += dot<type>(w + r * stride + bytes_before<type>(i), x + i, cols - i);
    }
}

// One weight row after the other is the fastest way through memory (half the speed with two rows abreast), unless x
// comes from the second-level cache for every row: then that traffic halves the speed, and eight rows abreast win
// most of it back.
template<DType type>
void dot_rows_of(const std::byte* w, int64_t stride, int64_t rows, const float* x, int64_t cols, float* dots)
{
    int64_t r = 0;
    if (cols > narrow_cols)
        for (; r + rows_abreast <= rows; r += rows_abreast)
            dot_abreast<type>(w + r * stride, stride, x, cols, dots + r);
    for (; r < rows; ++r)
        dots[r] = dot<type>(w + r * stride, x, cols);
}

void dot_rows(DType type, const std::byte* w, int64_t stride, int64_t rows, const float* x, int64_t cols,
              float* dots)
{
    switch (type) {
    case DType::F32:
        return dot_rows_of<DType::F32>(w, stride, rows, x, cols, dots);
    case DType::F16:
        return dot_rows_of<DType::F16>(w, stride, rows, x, cols, dots);
    case DType::BF16:
        return dot_rows_of<DType::BF16>(w, stride, rows, x, cols, dots);
    case DType::Q8_0:
        return dot_rows_of<DType::Q8_0>(w, stride, rows, x, cols, dots);
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

int64_t groups_of(const CpuWeight::Part& part)
{
    return (part.matrix.rows + group_rows - 1) / group_rows;
}

// One group of rows of a part, in the order they are stored.
void multiply_group(const Product& p, const CpuWeight::Part& part, int64_t group, const float* x, float* y)
{
    float dots[group_rows];
    const int64_t begin = group * group_rows, end = std::min(begin + group_rows, part.matrix.rows);
    HWY_DYNAMIC_DISPATCH(dot_rows)
    (part.matrix.type, part.stored(begin), part.stride, end - begin, x, p.x.cols, dots);
    for (int64_t stored = begin; stored < end; ++stored) {
        const int64_t row = part.first_row + part.row_of(stored);
        const float value = dots[stored - begin] + (p.bias ? p.bias[row] : 0.0f);
        y[row] = p.accumulate ? y[row] + value : value;
    }
}

// The groups of all parts are numbered through; a thread takes one run of them, so that it reads memory in one
// stream.
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
    for (const CpuWeight::Part& part : product.weight->parts())
        groups += groups_of(part);
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
