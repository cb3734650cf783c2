#include "kernels/cpu/gemv.h"

#include <algorithm>
#include <span>

#include "kernels/base/convert.h"
#include "kernels/base/fixed_point_types.h"
#include "kernels/cpu/summed_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemv.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/block_rows-inl.h"
#include "kernels/cpu/fixed_point_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
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

// The scale multiplies the sum of its block, not every weight. Four independent chains of sums hide the latency of
// the multiply-adds. Prefetches in software, because the hardware prefetcher stops at page boundaries.
template<>
HWY_INLINE float dot<DType::Q8_0>(const std::byte* HWY_RESTRICT w, const float* HWY_RESTRICT x, int64_t cols)
{
    constexpr int chains = 4, ahead = 2048; // ahead: bytes
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

// A row of activations with more columns does not stay in an L1 cache of 32 kB beside the weights that stream
// through it.
constexpr int64_t narrow_cols = 4096;
constexpr int rows_per_pass = 8;

// row_bytes with a compile-time type, for the innermost loops.
template<DType type>
HWY_INLINE int64_t bytes_before(int64_t elements)
{
    if constexpr (type == DType::Q8_0)
        return elements / q8_0_weights * q8_0_bytes;
    else
        return elements * (type == DType::F32 ? 4 : 2);
}

// sums[r] += row r of W times x, for one vector of columns that starts at byte `w` of row 0.
template<DType type, class D, class V>
HWY_INLINE void add_products(D d, const std::byte* HWY_RESTRICT w, int64_t stride, const float* HWY_RESTRICT x,
                             V (&sums)[rows_per_pass])
{
    const auto xs = hn::LoadU(d, x);
#pragma GCC unroll 8
    for (int r = 0; r < rows_per_pass; ++r)
        sums[r] = hn::MulAdd(LoadWide<type>(d, w + r * stride, 0), xs, sums[r]);
}

template<class D, class V>
HWY_INLINE void add_q8_0_products(D d, const std::byte* HWY_RESTRICT w, int64_t stride, const float* HWY_RESTRICT x,
                                  V (&sums)[rows_per_pass])
{
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
#pragma GCC unroll 8
    for (int r = 0; r < rows_per_pass; ++r) {
        const std::byte* block = w + r * stride;
        // The hardware prefetcher follows fewer than eight streams. 2: into L2.
        __builtin_prefetch(block + 1024, 0, 2);
        auto partial = hn::Mul(Q8Bytes(d, block, 0), hn::LoadU(d, x));
        for (int64_t j = lanes; j < q8_0_weights; j += lanes)
            partial = hn::MulAdd(Q8Bytes(d, block, j), hn::LoadU(d, x + j), partial);
        sums[r] = hn::MulAdd(partial, Q8Scale(d, block), sums[r]);
    }
}

// Multiplies several rows of weights at once, so that each load of x serves all of them. Each row has one chain of
// sums; a new chain begins every 1024 columns, because rounding errors grow with the length of a chain.
template<DType type>
HWY_INLINE void dot_many_rows(const std::byte* HWY_RESTRICT w, int64_t stride, const float* HWY_RESTRICT x,
                              int64_t cols, float* HWY_RESTRICT dots)
{
    constexpr int64_t chain = 1024;
    const hn::CappedTag<float, q8_0_weights> d;
    const int64_t step = type == DType::Q8_0 ? q8_0_weights : static_cast<int64_t>(hn::Lanes(d));
    hn::Vec<decltype(d)> totals[rows_per_pass];
    for (auto& total : totals)
        total = hn::Zero(d);
    int64_t i = 0;
    while (i + step <= cols) {
        hn::Vec<decltype(d)> sums[rows_per_pass];
        for (auto& sum : sums)
            sum = hn::Zero(d);
        for (const int64_t end = std::min(i + chain, cols); i + step <= end; i += step) {
            const std::byte* at = w + bytes_before<type>(i);
            if constexpr (type == DType::Q8_0)
                add_q8_0_products(d, at, stride, x + i, sums);
            else
                add_products<type>(d, at, stride, x + i, sums);
        }
        for (int r = 0; r < rows_per_pass; ++r)
            totals[r] = hn::Add(totals[r], sums[r]);
    }
    for (int r = 0; r < rows_per_pass; ++r) {
        dots[r] = hn::GetLane(hn::SumOfLanes(d, totals[r]));
        if (i < cols) dots[r] += dot<type>(w + r * stride + bytes_before<type>(i), x + i, cols - i);
    }
}

// While x fits into L1, one row of weights at a time is fastest: the memory delivers one stream best (two streams
// halved the speed where it was measured). A wider x is read from L2 again for every row, which halves the speed as
// well; then eight rows share each load of x, and prefetches keep their streams going.
template<DType type>
void dot_rows_of(const std::byte* w, int64_t stride, int64_t rows, const float* x, int64_t cols, float* dots)
{
    int64_t r = 0;
    if (cols > narrow_cols)
        for (; r + rows_per_pass <= rows; r += rows_per_pass)
            dot_many_rows<type>(w + r * stride, stride, x, cols, dots + r);
    for (; r < rows; ++r)
        dots[r] = dot<type>(w + r * stride, x, cols);
}

// For Highway's scalar target, which has no kernels for blocks.
[[maybe_unused]] float dot_widened(DType type, const std::byte* w, const float* x, int64_t cols)
{
    float sum = 0, wide[super_block];
    for (int64_t i = 0; i < cols; i += super_block) {
        const int64_t count = std::min<int64_t>(super_block, cols - i);
        to_f32(type, w + row_bytes(type, i), wide, count);
        sum += dot<DType::F32>(reinterpret_cast<const std::byte*>(wide), x + i, count);
    }
    return sum;
}

// sums[i] = the sum of x[i * group] to x[(i + 1) * group - 1], in the same order on every target.
void sum_groups(const float* x, int64_t cols, int64_t group, float* sums)
{
    for (int64_t i = 0; i < cols / group; ++i) {
        float four[4] = {};
        for (int64_t j = 0; j < group; j += 4)
            for (int64_t k = 0; k < 4; ++k)
                four[k] += x[i * group + j + k];
        sums[i] = four[0] + four[1] + (four[2] + four[3]);
    }
}

bool has_fixed_point()
{
#if HWY_TARGET <= HWY_AVX3
    static const bool has_vnni = __builtin_cpu_supports("avx512vnni") != 0;
    return has_vnni;
#else
    return false;
#endif
}

// Converts x for weights of this type. Returns false if these weights are multiplied in f32, because the processor
// has no VNNI, decode does not multiply this type in fixed point, or x has an outlier (HasOutlier).
bool to_fixed_point(const float* x, int64_t cols, DType type, cpu::FixedPoint128* to)
{
#if HWY_TARGET <= HWY_AVX3
    if (!has_fixed_point() || !decodes_in_fixed_point(type) || HasOutlier(x, cols)) return false;
    ToFixedPoint(x, cols, type, to);
    return true;
#else
    (void)x, (void)cols, (void)type, (void)to;
    return false;
#endif
}

#if HWY_TARGET <= HWY_AVX3
template<DType type>
void dot_fixed_point(const std::byte* w, int64_t stride, int64_t rows, const PreparedRow& row, int64_t cols,
                     float* dots)
{
    const cpu::FixedPoint128* x = row.fixed_point[static_cast<int>(type)];
    for (int64_t r = 0; r < rows; ++r)
        dots[r] = DotFixedPoint<type>(w + r * stride, x, row.sums32, cols);
}
#endif

void dot_rows(DType type, const std::byte* w, int64_t stride, int64_t rows, const PreparedRow& row, int64_t cols,
              float* dots)
{
    switch (type) {
    case DType::F32:
        return dot_rows_of<DType::F32>(w, stride, rows, row.x, cols, dots);
    case DType::F16:
        return dot_rows_of<DType::F16>(w, stride, rows, row.x, cols, dots);
    case DType::BF16:
        return dot_rows_of<DType::BF16>(w, stride, rows, row.x, cols, dots);
    case DType::Q8_0:
        return dot_rows_of<DType::Q8_0>(w, stride, rows, row.x, cols, dots);
    default:
        break;
    }
#if HWY_TARGET <= HWY_AVX3
    if (row.fixed_point[static_cast<int>(type)] != nullptr) {
        if (type == DType::Q4_0) return dot_fixed_point<DType::Q4_0>(w, stride, rows, row, cols, dots);
        if (type == DType::Q4_1) return dot_fixed_point<DType::Q4_1>(w, stride, rows, row, cols, dots);
        if (type == DType::Q4_K) return dot_fixed_point<DType::Q4_K>(w, stride, rows, row, cols, dots);
        if (type == DType::Q5_K) return dot_fixed_point<DType::Q5_K>(w, stride, rows, row, cols, dots);
        if (type == DType::Q6_K) return dot_fixed_point<DType::Q6_K>(w, stride, rows, row, cols, dots);
    }
#endif
#if HWY_TARGET == HWY_SCALAR
    for (int64_t r = 0; r < rows; ++r)
        dots[r] = dot_widened(type, w + r * stride, row.x, cols);
#else
    WithBlocks(type, [&]<DType t>() {
        for (int64_t r = 0; r < rows; ++r)
            dots[r] = DotBlocks<t>(w + r * stride, row, cols);
    });
#endif
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {
namespace {

HWY_EXPORT(dot_rows);
HWY_EXPORT(sum_groups);
HWY_EXPORT(has_fixed_point);
HWY_EXPORT(to_fixed_point);

constexpr int64_t group_rows = 16; // stored rows that are multiplied together; two passes of eight

int64_t groups_of(const CpuWeight::Part& part)
{
    return (part.matrix.rows + group_rows - 1) / group_rows;
}

// Multiplies one group of stored rows of a part. The file may store the two rows of a rotary pair side by side;
// row_of gives the row of y.
void multiply_group(const Product& p, const CpuWeight::Part& part, int64_t group, const PreparedRow& x, float* y)
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

// Multiplies groups [begin, end), numbered across all parts. A thread takes consecutive groups, so that it reads
// memory as one stream.
void multiply_groups(const Product& p, const PreparedRow& x, float* y, int64_t begin, int64_t end)
{
    int64_t first = 0;
    for (const CpuWeight::Part& part : p.weight->parts()) {
        const int64_t count = groups_of(part);
        for (int64_t g = std::max(begin, first); g < std::min(end, first + count); ++g)
            multiply_group(p, part, g - first, x, y);
        first += count;
    }
}

// How many elements share an offset; the activations of such a group are summed in advance. 0 for types without
// offsets.
int64_t offset_group(DType type)
{
    if (type == DType::Q2_K) return 16;
    const bool has_offset =
        type == DType::Q4_1 || type == DType::Q5_1 || type == DType::Q4_K || type == DType::Q5_K;
    return has_offset ? 32 : 0;
}

// Makes the rows of activations, one at a time, with what the weight's types need: group sums and fixed-point
// numbers.
class RowComputer {
public:
    RowComputer(const Product& product, CpuContext& context) : x_(product.x)
    {
        const auto cols = static_cast<size_t>(x_.cols);
        made_ = context.shared_scratch(ScratchUse::NormedRows).get<float>(cols);
        for (const CpuWeight::Part& part : product.weight->parts())
            note(part.matrix.type);
        if (sums16_count_ + sums32_count_ > 0)
            sums_ = context.shared_scratch(ScratchUse::Sums).get<float>(sums16_count_ + sums32_count_);
        if (context.exact_products) type_count_ = 0;
        if (type_count_ > 0)
            fixed_ = context.shared_scratch(ScratchUse::PackedRows).get<FixedPoint128>(type_count_ * fixed_count());
    }

    PreparedRow row(int64_t r) const
    {
        if (!x_.is_plain()) x_.make(r, made_);
        PreparedRow row{.x = x_.is_plain() ? x_.in_memory(r) : made_};
        if (sums16_count_ > 0) row.sums16 = summed(row.x, 16, sums_);
        if (sums32_count_ > 0) row.sums32 = summed(row.x, 32, sums_ + sums16_count_);
        FixedPoint128* to = fixed_;
        for (const DType type : std::span(types_, type_count_))
            if (HWY_DYNAMIC_DISPATCH(to_fixed_point)(row.x, x_.cols, type, to)) {
                row.fixed_point[static_cast<int>(type)] = to;
                to += fixed_count();
            }
        return row;
    }

private:
    // Takes note of a type with blocks other than Q8_0, and of the group sums of x that it needs. Not all of them
    // are multiplied in fixed point (to_fixed_point).
    void note(DType type)
    {
        if (info(type).block == 1 || type == DType::Q8_0) return;
        const auto cols = static_cast<size_t>(x_.cols);
        if (offset_group(type) == 16) sums16_count_ = cols / 16;
        if (offset_group(type) == 32) sums32_count_ = cols / 32;
        const bool is_known = std::find(types_, types_ + type_count_, type) != types_ + type_count_;
        if (!is_known) types_[type_count_++] = type;
    }

    size_t fixed_count() const { return static_cast<size_t>(x_.cols + 127) / 128; } // per row and type

    const float* summed(const float* x, int64_t group, float* to) const
    {
        HWY_DYNAMIC_DISPATCH(sum_groups)(x, x_.cols, group, to);
        return to;
    }

    const RowSource& x_;
    float* made_ = nullptr;
    float* sums_ = nullptr; // for groups of 16, then of 32
    size_t sums16_count_ = 0, sums32_count_ = 0;
    FixedPoint128* fixed_ = nullptr;
    DType types_[dtype_count] = {};
    size_t type_count_ = 0;
};

} // namespace

bool multiplies_in_fixed_point()
{
    return HWY_DYNAMIC_DISPATCH(has_fixed_point)();
}

void gemv(const Product& product, CpuContext& context)
{
    int64_t groups = 0;
    for (const CpuWeight::Part& part : product.weight->parts())
        groups += groups_of(part);
    const int64_t runs = std::min<int64_t>(groups, context.threads.threads());
    const RowComputer rows(product, context);
    for (int64_t r = 0; r < product.x.rows; ++r) {
        const PreparedRow x = rows.row(r);
        float* y = product.y + r * product.weight->rows();
        context.threads.run(runs, [&](int64_t run, int) {
            multiply_groups(product, x, y, groups * run / runs, groups * (run + 1) / runs);
        });
    }
}

} // namespace palimpsest::kernels::cpu
#endif
