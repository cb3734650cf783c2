// Attention of one token over lists that are read in place.
//
// The work is split by KV head and into segments of 512 read ranks, whatever the number of threads; the segments of
// a head are combined in order. Contiguous positions are rotated in two steps, R(p) = R(first) R(p - first): for
// each block of 16 read ranks, the query is rotated by its distance from the first of them, and a key only by its
// distance from the first. Unless pages are retrieved, that is at most 15, so that the part of the table that keys
// use stays in L1.
#include "kernels/cpu/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "hwy/cache_control.h"
#include "kernels/cpu/key_norms.h"
#include "kernels/cpu/key_similarities.h"
#include "kernels/cpu/kv_list.h"
#include "kernels/cpu/page_retrieval.h"
#include "kernels/cpu/top_mass.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/decode_attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/decode_signals-inl.h"
#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/kv_quantise-inl.h"
#include "kernels/cpu/rotate-inl.h"
#include "kernels/cpu/tanh-inl.h"

#ifndef PALIMPSEST_KERNELS_CPU_DECODE_ATTENTION_ONCE
#define PALIMPSEST_KERNELS_CPU_DECODE_ATTENTION_ONCE
namespace palimpsest::kernels {

inline constexpr int64_t segment_ranks = 512;
inline constexpr int64_t block_ranks = 16;

// Both: one pass computes the logits and weighs the values of a segment. With top-p retrieval, a first pass reads
// all keys; the ranks that each query head attends to are then chosen, and a second pass reads the values.
enum class DecodePass : uint8_t { Both, Keys, Values };

// A segment's contribution to the combination, per head of the query group: `weights` holds first the logits, then
// exp(logit - row maximum), `denominators` their sums and `out` the sum of values with these weights.
struct DecodeSegment {
    int64_t head = 0;
    ReadList read;
    int64_t first = 0, last = 0; // range of indices into `read`
    int64_t padded_dim = 0;      // stride of `out`: head_dim rounded up to whole vectors
    float* weights = nullptr;    // [group, weight_stride]; column 0 is index `first`
    int64_t weight_stride = 0;
    float* row_maxima = nullptr;   // [group]
    float* denominators = nullptr; // [group]
    float* out = nullptr;          // [group, padded_dim]
    float* queries = nullptr;      // scratch [group, padded_dim]
    float* rows = nullptr;         // scratch [block_ranks, padded_dim]
};

} // namespace palimpsest::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;

int64_t VectorLanes()
{
    return static_cast<int64_t>(hn::Lanes(F32()));
}

#if HWY_TARGET != HWY_SCALAR
// Returns four lanes: lane i is the sum of lanes i, i + 4, i + 8, ... of v.
template<class D, class V>
HWY_INLINE auto FoldBlocks(D d, V v)
{
    if constexpr (hn::MaxLanes(D()) <= 4) {
        (void)d;
        return v;
    } else {
        const hn::Half<D> half;
        return FoldBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
}

// Stores the sums over the lanes of a, b, c and e, at little more than the cost of one such sum.
template<class V>
HWY_INLINE void StoreFourSums(F32 d, V a, V b, V c, V e, float* to)
{
    const hn::Repartition<uint64_t, F32> pairs;
    const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    const auto ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
    const auto lower = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ce));
    const auto upper = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, ce));
    const auto sums = hn::Add(hn::BitCast(d, lower), hn::BitCast(d, upper));
    hn::StoreU(FoldBlocks(d, sums), hn::CappedTag<float, 4>(), to);
}
#else
template<class V>
HWY_INLINE void StoreFourSums(F32 d, V a, V b, V c, V e, float* to)
{
    hn::StoreU(a, d, to);
    hn::StoreU(b, d, to + 1);
    hn::StoreU(c, d, to + 2);
    hn::StoreU(e, d, to + 3);
}
#endif

// Up to sixteen rows of a pool. For keys that are not rotated yet, `angles` are their rows of the rotary table.
struct BlockRows {
    int64_t count = 0;
    KvRow at[block_ranks];
    const float* angles[block_ranks];
};

// Adds query . key j to sums[g][j], for one vector of every query of the tile and of four keys.
template<int heads, class V>
HWY_INLINE void AddProducts(const float* HWY_RESTRICT queries, int64_t stride, const V (&keys)[4],
                            V (&sums)[heads][4])
{
    const F32 d;
#pragma GCC unroll 16
    for (int g = 0; g < heads; ++g) {
        const auto query = hn::Load(d, queries + g * stride);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
            sums[g][j] = hn::MulAdd(query, keys[j], sums[g][j]);
    }
}

// logits[g * stride + j] = query g . key first + j, for `heads` queries and four keys; beyond keys.count, the last
// key is repeated. Rotates pairs (i, i + half) of the keys on the fly. REQUIRES: half and dim are whole vectors.
template<DType type, int heads>
HWY_INLINE void DotFour(const float* HWY_RESTRICT queries, const BlockRows& keys, int64_t first, int64_t half,
                        int64_t dim, float* HWY_RESTRICT logits, int64_t stride)
{
    const F32 d;
    const int64_t lanes = VectorLanes();
    hn::Vec<F32> sums[heads][4], left[4], right[4];
#pragma GCC unroll 16
    for (int g = 0; g < heads; ++g)
        for (int j = 0; j < 4; ++j)
            sums[g][j] = hn::Zero(d);
    for (int64_t i = 0; i < half; i += lanes) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
            const int64_t v = std::min(first + j, keys.count - 1);
            const auto a = LoadWide<type>(d, keys.at[v], i), b = LoadWide<type>(d, keys.at[v], half + i);
            const auto cosine = hn::LoadU(d, keys.angles[v] + i), sine = hn::LoadU(d, keys.angles[v] + half + i);
            left[j] = hn::NegMulAdd(b, sine, hn::Mul(a, cosine));
            right[j] = hn::MulAdd(a, sine, hn::Mul(b, cosine));
        }
        AddProducts<heads>(queries + i, dim, left, sums);
        AddProducts<heads>(queries + half + i, dim, right, sums);
    }
    for (int64_t i = 2 * half; i < dim; i += lanes) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
            left[j] = LoadWide<type>(d, keys.at[std::min(first + j, keys.count - 1)], i);
        AddProducts<heads>(queries + i, dim, left, sums);
    }
#pragma GCC unroll 16
    for (int g = 0; g < heads; ++g)
        StoreFourSums(d, sums[g][0], sums[g][1], sums[g][2], sums[g][3], logits + g * stride);
}

// out[g] += sum over rows of weights[g * stride + j] * row j, for `heads` heads and `vectors` vectors starting at
// `column`.
template<DType type, int heads, int vectors>
HWY_INLINE void AddWeighted(const float* HWY_RESTRICT weights, int64_t stride, const BlockRows& rows,
                            int64_t column, int64_t dim, float* HWY_RESTRICT out)
{
    const F32 d;
    const int64_t lanes = VectorLanes();
    hn::Vec<F32> sums[heads][vectors];
#pragma GCC unroll 16
    for (int g = 0; g < heads; ++g)
        for (int c = 0; c < vectors; ++c)
            sums[g][c] = hn::Load(d, out + g * dim + column + c * lanes);
    for (int64_t j = 0; j < rows.count; ++j) {
        hn::Vec<F32> value[vectors];
#pragma GCC unroll 4
        for (int c = 0; c < vectors; ++c)
            value[c] = LoadWide<type>(d, rows.at[j], column + c * lanes);
#pragma GCC unroll 16
        for (int g = 0; g < heads; ++g) {
            const auto weight = hn::Set(d, weights[g * stride + j]);
#pragma GCC unroll 4
            for (int c = 0; c < vectors; ++c)
                sums[g][c] = hn::MulAdd(weight, value[c], sums[g][c]);
        }
    }
#pragma GCC unroll 16
    for (int g = 0; g < heads; ++g)
        for (int c = 0; c < vectors; ++c)
            hn::Store(sums[g][c], d, out + g * dim + column + c * lanes);
}

template<DType type, int heads>
HWY_INLINE void AddWeightedRows(const float* weights, int64_t stride, const BlockRows& rows, int64_t dim,
                                float* out)
{
    const int64_t lanes = VectorLanes();
    int64_t i = 0;
    for (; i + 4 * lanes <= dim; i += 4 * lanes)
        AddWeighted<type, heads, 4>(weights, stride, rows, i, dim, out);
    for (; i < dim; i += lanes)
        AddWeighted<type, heads, 1>(weights, stride, rows, i, dim, out);
}

// Calls tile(first head, compile-time number of heads) until the query group is covered. Four heads need 16 vectors
// of sums, which only targets with 32 registers can hold. The sums of a head do not depend on the tile size.
template<class Tile>
HWY_INLINE void ForHeads(int64_t group, Tile&& tile)
{
    int64_t g = 0;
    if constexpr (HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON)
        for (; g + 4 <= group; g += 4)
            tile(g, std::integral_constant<int, 4>());
    for (; g + 2 <= group; g += 2)
        tile(g, std::integral_constant<int, 2>());
    for (; g < group; ++g)
        tile(g, std::integral_constant<int, 1>());
}

HWY_INLINE void PrefetchRow(const KvRow& row, const KvPage& page)
{
    for (int64_t i = 0; i < page.element_bytes; i += 64)
        hwy::Prefetch(row.elements + i);
    if (page.scale_bytes > 0) hwy::Prefetch(row.scales);
}

// For head sizes that are not a whole number of vectors: converts the rows to f32 with padding, so that all other
// code works on whole vectors.
template<DType type>
HWY_INLINE void WidenBlock(const DecodeSegment& segment, int64_t head_dim, BlockRows& rows)
{
    for (int64_t v = 0; v < rows.count; ++v) {
        float* row = segment.rows + v * segment.padded_dim;
        WidenRow<type>(rows.at[v], row, head_dim);
        rows.at[v] = {reinterpret_cast<std::byte*>(row)};
    }
}

// Multiplies the group's queries by the scale of the logits and rotates them: by the token's distance from rank
// `first`, or, if keys are stored rotated, by its own position, which is row 0 of the table.
HWY_INLINE void RotateQueries(const DecodeAttendArgs& args, const DecodeSegment& segment, int64_t first)
{
    const int64_t dim = args.shape.head_dim, group = args.shape.group();
    const int64_t position = args.rotation.keys_rotated ? 0 : args.lists.used[segment.head] - first;
    const float* queries = args.qkv + segment.head * group * dim;
    for (int64_t g = 0; g < group; ++g) {
        float* q = segment.queries + g * segment.padded_dim;
        for (int64_t i = 0; i < dim; ++i)
            q[i] = queries[g * dim + i] * args.shape.scale;
        RotateRow(args.rotation.table, position, q);
    }
}

template<DType type>
HWY_INLINE void LogitsOfBlock(const DecodeSegment& segment, const BlockRows& keys, int64_t half, int64_t group,
                              float* logits)
{
    for (int64_t v = 0; v < keys.count; v += 4) {
        ForHeads(group, [&](int64_t g, auto heads) {
            DotFour<type, decltype(heads)::value>(segment.queries + g * segment.padded_dim, keys, v, half,
                                                  segment.padded_dim, logits + g * segment.weight_stride + v,
                                                  segment.weight_stride);
        });
    }
}

template<DType type>
HWY_INLINE void LogitsOfSegment(const DecodeAttendArgs& args, const DecodeSegment& segment, const KvList& list)
{
    const uint32_t* rows = segment.read.rows;
    const RopeTable& table = args.rotation.table;
    const int64_t dim = args.shape.head_dim, lanes = VectorLanes();
    const bool rotate_keys = !args.rotation.keys_rotated;
    const int64_t half = rotate_keys ? table.rotary_dim / 2 : 0;
    const bool whole = dim % lanes == 0 && half % lanes == 0;
    BlockRows keys;
    for (int64_t v = 0; v < block_ranks; ++v)
        keys.angles[v] = table.cos_sin + v * table.rotary_dim;
    for (int64_t first = segment.first; first < segment.last; first += block_ranks) {
        const int64_t ahead = std::min(first + 2 * block_ranks, segment.last);
        for (int64_t rank = first + block_ranks; rank < ahead; ++rank)
            PrefetchRow(list.key(rows[rank]), list.page());

        const int64_t first_rank = segment.read.rank(first);
        if (rotate_keys || first == segment.first) RotateQueries(args, segment, first_rank);
        keys.count = std::min(block_ranks, segment.last - first);
        for (int64_t v = 0; v < keys.count; ++v)
            keys.at[v] = list.key(rows[first + v]);
        for (int64_t v = 0; segment.read.ranks && v < keys.count; ++v) // the ranks read need not be consecutive
            keys.angles[v] = table.cos_sin + (segment.read.rank(first + v) - first_rank) * table.rotary_dim;
        float* logits = segment.weights + first - segment.first;
        if (whole) {
            LogitsOfBlock<type>(segment, keys, half, args.shape.group(), logits);
            continue;
        }
        WidenBlock<type>(segment, dim, keys);
        for (int64_t v = 0; rotate_keys && v < keys.count; ++v)
            RotateRow(table, segment.read.rank(first + v) - first_rank, segment.rows + v * segment.padded_dim);
        LogitsOfBlock<DType::F32>(segment, keys, 0, args.shape.group(), logits);
    }
}

// x = cap tanh(x / cap), in place. x is padded to whole vectors; the padding has arbitrary values.
HWY_INLINE void CapSoftly(float soft_cap, float* HWY_RESTRICT x, int64_t count)
{
    const F32 d;
    const auto cap = hn::Set(d, soft_cap);
    for (int64_t i = 0; i < count; i += VectorLanes())
        hn::StoreU(hn::Mul(cap, Tanh(d, hn::Div(hn::LoadU(d, x + i), cap))), d, x + i);
}

// Replaces logits by exp(logit - row maximum), in place. Rows are padded to whole vectors; the padding has
// arbitrary values.
HWY_INLINE void Exponentials(float* HWY_RESTRICT weights, int64_t count, float& top, float& total)
{
    const F32 d;
    const int64_t lanes = VectorLanes();
    auto row_maxima = hn::Set(d, weights[0]);
    for (int64_t i = 0; i < count; i += lanes) {
        const auto within = hn::FirstN(d, static_cast<size_t>(count - i));
        row_maxima = hn::IfThenElse(within, hn::Max(row_maxima, hn::LoadU(d, weights + i)), row_maxima);
    }
    const auto shift = hn::MaxOfLanes(d, row_maxima);
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < count; i += lanes) {
        const auto within = hn::FirstN(d, static_cast<size_t>(count - i));
        const auto e = hn::IfThenElseZero(within, Exp(d, hn::Sub(hn::LoadU(d, weights + i), shift)));
        hn::StoreU(e, d, weights + i);
        sum = hn::Add(sum, e);
    }
    top = hn::GetLane(shift);
    total = hn::GetLane(hn::SumOfLanes(d, sum));
}

template<DType type>
HWY_INLINE void ValuesOfBlock(const DecodeSegment& segment, const BlockRows& rows, int64_t group,
                              const float* weights)
{
    ForHeads(group, [&](int64_t g, auto heads) {
        AddWeightedRows<type, decltype(heads)::value>(weights + g * segment.weight_stride, segment.weight_stride,
                                                      rows, segment.padded_dim,
                                                      segment.out + g * segment.padded_dim);
    });
}

// Whether no head of the query group attends to any row of the block.
HWY_INLINE bool AllWeightsZero(const DecodeSegment& segment, const float* weights, int64_t count, int64_t group)
{
    for (int64_t g = 0; g < group; ++g)
        for (int64_t i = 0; i < count; ++i)
            if (weights[g * segment.weight_stride + i] != 0) return false;
    return true;
}

template<DType type>
HWY_INLINE void ValuesOfSegment(const DecodeAttendArgs& args, const DecodeSegment& segment, const KvList& list,
                                bool sparse)
{
    const uint32_t* read = segment.read.rows;
    const int64_t dim = args.shape.head_dim, group = args.shape.group();
    for (int64_t first = segment.first; first < segment.last; first += block_ranks) {
        const int64_t ahead = std::min(first + 2 * block_ranks, segment.last);
        for (int64_t rank = first + block_ranks; rank < ahead; ++rank)
            PrefetchRow(list.value(read[rank]), list.page());
        BlockRows rows;
        rows.count = std::min(block_ranks, segment.last - first);
        for (int64_t v = 0; v < rows.count; ++v)
            rows.at[v] = list.value(read[first + v]);
        const float* weights = segment.weights + first - segment.first;
        if (sparse && AllWeightsZero(segment, weights, rows.count, group)) continue;
        if (dim == segment.padded_dim) {
            ValuesOfBlock<type>(segment, rows, group, weights);
        } else {
            WidenBlock<type>(segment, dim, rows);
            ValuesOfBlock<DType::F32>(segment, rows, group, weights);
        }
    }
}

// Stores the token's own key and value in the first free row of the list.
HWY_INLINE void WriteToken(const DecodeAttendArgs& args, const DecodeSegment& segment, const KvList& list,
                           int64_t row)
{
    const HeadShape& shape = args.shape;
    const int64_t dim = shape.head_dim;
    const float* key = args.qkv + (shape.query_heads + segment.head) * dim;
    if (args.rotation.keys_rotated) {
        std::memcpy(segment.rows, key, static_cast<size_t>(dim) * sizeof(float));
        RotateRow(args.rotation.table, 0, segment.rows);
        NarrowRow(args.pool.type, segment.rows, list.key(row), dim);
    } else {
        NarrowRow(args.pool.type, key, list.key(row), dim);
    }
    NarrowRow(args.pool.type, key + shape.kv_heads * dim, list.value(row), dim);
}

template<DType type>
HWY_INLINE void AttendSegment(const DecodeAttendArgs& args, const DecodeSegment& segment, DecodePass pass)
{
    const int64_t used = args.lists.used[segment.head], group = args.shape.group();
    const KvList list(args.pool, args.lists, segment.head, args.shape.head_dim);
    // Padding columns must be zero, because whole vectors are multiplied.
    std::fill_n(segment.queries, group * segment.padded_dim, 0.0f);
    std::fill_n(segment.rows, block_ranks * segment.padded_dim, 0.0f);
    std::fill_n(segment.out, group * segment.padded_dim, 0.0f);

    if (pass != DecodePass::Values) {
        if (segment.last == segment.read.count)
            WriteToken(args, segment, list, args.lists.order[segment.head * args.lists.order_stride + used]);
        LogitsOfSegment<type>(args, segment, list);
    }
    const int64_t count = segment.last - segment.first;
    for (int64_t g = 0; pass != DecodePass::Values && args.shape.soft_cap > 0 && g < group; ++g)
        CapSoftly(args.shape.soft_cap, segment.weights + g * segment.weight_stride, count);
    for (int64_t g = 0; pass == DecodePass::Both && g < group; ++g)
        Exponentials(segment.weights + g * segment.weight_stride, count, segment.row_maxima[g],
                     segment.denominators[g]);
    if (pass != DecodePass::Keys) ValuesOfSegment<type>(args, segment, list, pass == DecodePass::Values);
}

void AttendDecodeSegment(const DecodeAttendArgs& args, const DecodeSegment& segment, DecodePass pass)
{
    if (args.pool.type == DType::F32) return AttendSegment<DType::F32>(args, segment, pass);
    if (args.pool.type == DType::F16) return AttendSegment<DType::F16>(args, segment, pass);
    if (args.pool.type == DType::Q8_0) return AttendSegment<DType::Q8_0>(args, segment, pass);
    AttendSegment<DType::BF16>(args, segment, pass);
}

// Replaces the logits of one query by exp(logit - row maximum). The row is padded as in Exponentials.
void ExponentiateLogits(float* weights, int64_t count)
{
    float top = 0, total = 0;
    Exponentials(weights, count, top, total);
}

// The row is padded as in Exponentials.
float SumOfWeights(const float* weights, int64_t count)
{
    const F32 d;
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < count; i += VectorLanes()) {
        const auto within = hn::FirstN(d, static_cast<size_t>(count - i));
        sum = hn::Add(sum, hn::IfThenElseZero(within, hn::LoadU(d, weights + i)));
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
}

// y[0, count) = a x; with `add`, y += a x. x may be y.
void ScaleInto(const float* x, float a, int64_t count, bool add, float* y)
{
    const F32 d;
    const int64_t lanes = VectorLanes();
    const auto factor = hn::Set(d, a);
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto product = hn::Mul(factor, hn::LoadU(d, x + i));
        hn::StoreU(add ? hn::Add(hn::LoadU(d, y + i), product) : product, d, y + i);
    }
    for (; i < count; ++i)
        y[i] = add ? y[i] + a * x[i] : a * x[i];
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(VectorLanes);
HWY_EXPORT(AttendDecodeSegment);
HWY_EXPORT(ExponentiateLogits);
HWY_EXPORT(SumOfWeights);
HWY_EXPORT(ScaleInto);
HWY_EXPORT(DecodeSignals);

namespace cpu {
namespace {

// The memory of all segments of all heads. Its layout does not depend on the number of threads.
class SegmentPlan {
public:
    SegmentPlan(const DecodeAttendArgs& args, const PageSelector& retrieving, CpuContext& context)
        : args_(args), retrieving_(retrieving), context_(context)
    {
        const HeadShape& shape = args.shape;
        const int64_t lanes = HWY_DYNAMIC_DISPATCH(VectorLanes)();
        padded_dim_ = (shape.head_dim + lanes - 1) / lanes * lanes;
        for (int64_t head = 0; head < shape.kv_heads; ++head)
            segments_ = std::max(segments_, segments_of(head));
        const auto parts = static_cast<size_t>(shape.query_heads * segments_);
        weights_ = context.shared_scratch(ScratchUse::Scores).get<float>(parts * segment_ranks);
        outs_ = context.shared_scratch(ScratchUse::Hidden).get<float>(parts * static_cast<size_t>(padded_dim_));
        row_maxima_ = context.shared_scratch(ScratchUse::Sums).get<float>(parts * 2);
        denominators_ = row_maxima_ + parts;
        row_floats_ = static_cast<size_t>((shape.group() + block_ranks) * padded_dim_);
        context.reserve<float>(ScratchUse::PackedRows, row_floats_);
    }

    int64_t tasks() const { return args_.shape.kv_heads * segments_; }
    int64_t segments_of(int64_t head) const { return (retrieving_.list(head).count - 1) / segment_ranks + 1; }
    int64_t weight_stride() const { return segments_ * segment_ranks; }
    // [group, weight_stride]: all segments of a head side by side.
    float* weights(int64_t head) const { return weights_ + head * args_.shape.group() * weight_stride(); }

    // REQUIRES: index < segments_of(head). Segments that the same worker computes share its scratch memory.
    DecodeSegment segment(int64_t head, int64_t index, int worker)
    {
        const int64_t group = args_.shape.group(), part = (head * segments_ + index) * group;
        DecodeSegment s;
        s.head = head;
        s.read = retrieving_.list(head);
        s.first = index * segment_ranks;
        s.last = std::min(s.first + segment_ranks, s.read.count);
        s.padded_dim = padded_dim_;
        s.weights = weights(head) + s.first;
        s.weight_stride = weight_stride();
        s.row_maxima = row_maxima_ + part;
        s.denominators = denominators_ + part;
        s.out = outs_ + part * padded_dim_;
        s.queries = context_.worker_scratch(worker, ScratchUse::PackedRows).get<float>(row_floats_);
        s.rows = s.queries + group * padded_dim_;
        return s;
    }

private:
    const DecodeAttendArgs& args_;
    const PageSelector& retrieving_;
    CpuContext& context_;
    int64_t padded_dim_ = 0, segments_ = 0;
    size_t row_floats_ = 0; // queries and f32 rows of one worker
    float *weights_ = nullptr, *outs_ = nullptr, *row_maxima_ = nullptr, *denominators_ = nullptr;
};

// Turns the logits of one query head into weights, and sets those outside of the top-p set to zero.
void apply_top_p(const DecodeAttendArgs& args, SegmentPlan& plan, const PageSelector& retrieving,
                 int64_t query_head, uint32_t* order)
{
    const int64_t head = query_head / args.shape.group(), g = query_head % args.shape.group();
    const int64_t count = retrieving.list(head).count;
    float* weights = plan.weights(head) + g * plan.weight_stride();
    HWY_DYNAMIC_DISPATCH(ExponentiateLogits)(weights, count);
    keep_top_mass(weights, count, args.retrieval.top_p, order);
    for (int64_t i = 0; i < plan.segments_of(head); ++i) {
        const DecodeSegment s = plan.segment(head, i, 0);
        s.row_maxima[g] = 0; // the weights of all segments have one scale already
        s.denominators[g] = HWY_DYNAMIC_DISPATCH(SumOfWeights)(weights + s.first, s.last - s.first);
    }
}

// Whether only plain sums are requested, without retrieval and without outside_newest; combine_head then
// accumulates them directly.
bool only_sums(const DecodeAttendArgs& args)
{
    SignalRequest more = args.signals;
    more.sums = nullptr;
    return args.signals.outside_newest < 0 && !args.retrieval.pages.bounds && !wants_signals(more);
}

// Combines the segments of one KV head, in order: rescales each segment's results to the common row maximum. If
// signals are computed afterwards, also turns the weights into probabilities.
void combine_head(const DecodeAttendArgs& args, SegmentPlan& plan, int64_t head, int worker)
{
    const auto scale_into = HWY_DYNAMIC_DISPATCH(ScaleInto);
    const int64_t dim = args.shape.head_dim, group = args.shape.group(), segments = plan.segments_of(head);
    const bool sums = wants_signals(args.signals) && only_sums(args);
    const bool probabilities = wants_signals(args.signals) && !sums;
    for (int64_t g = 0; g < group; ++g) {
        float top = plan.segment(head, 0, worker).row_maxima[g], total = 0;
        for (int64_t i = 1; i < segments; ++i)
            top = std::max(top, plan.segment(head, i, worker).row_maxima[g]);
        for (int64_t i = 0; i < segments; ++i) {
            const DecodeSegment s = plan.segment(head, i, worker);
            total += s.denominators[g] * std::exp(s.row_maxima[g] - top);
        }
        for (int64_t i = 0; i < segments; ++i) {
            const DecodeSegment s = plan.segment(head, i, worker);
            const float share = std::exp(s.row_maxima[g] - top) / total;
            float* weights = s.weights + g * s.weight_stride;
            scale_into(s.out + g * s.padded_dim, share, dim, i > 0, args.out + (head * group + g) * dim);
            if (probabilities) scale_into(weights, share, s.last - s.first, false, weights);
            if (!sums) continue;
            scale_into(weights, share, s.last - s.first, g > 0,
                       args.signals.sums + head * args.signals.stride + s.read.first + s.first);
        }
    }
}

// Zeroes the signals of the ranks before `first`, which the token does not attend to.
void clear_unseen(const SignalRequest& wanted, int64_t group, int64_t head, int64_t first)
{
    for (float* of_head : {wanted.sums, wanted.low_counts, wanted.entropies})
        if (of_head) std::fill_n(of_head + head * wanted.stride, first, 0.0f);
    for (float* of_heads : {wanted.head_sums, wanted.head_squares})
        for (int64_t g = head * group; of_heads && g < (head + 1) * group; ++g)
            std::fill_n(of_heads + g * wanted.stride, first, 0.0f);
}

// Returns the request with its outputs starting at rank `first`.
SignalRequest beginning_at(int64_t first, SignalRequest wanted)
{
    for (float** out :
         {&wanted.sums, &wanted.low_counts, &wanted.entropies, &wanted.head_sums, &wanted.head_squares})
        if (*out) *out += first;
    return wanted;
}

// Computes signals other than plain sums from the probabilities of the ranks that were read.
class SignalRows {
public:
    SignalRows(const DecodeAttendArgs& args, const SegmentPlan& plan, const PageSelector& retrieving,
               CpuContext& context)
        : args_(args), plan_(plan), retrieving_(retrieving), context_(context)
    {
        if (!wants_signals(args.signals) || only_sums(args)) return;
        wanted_ = true;
        for (int64_t head = 0; head < args.shape.kv_heads; ++head) {
            ranks_ = std::max<int64_t>(ranks_, args.lists.used[head] + 1);
            spread_ |= retrieving.list(head).ranks != nullptr;
        }
        context.reserve<float>(ScratchUse::Sums, floats());
    }

    void signal(int64_t head, int worker) const
    {
        if (!wanted_) return;
        const auto decode_signals = HWY_DYNAMIC_DISPATCH(DecodeSignals);
        float* sorted = context_.worker_scratch(worker, ScratchUse::Sums).get<float>(floats());
        const int64_t group = args_.shape.group(), ranks = args_.lists.used[head] + 1;
        const ReadList read = retrieving_.list(head);
        float* a = plan_.weights(head);
        if (!read.ranks)
            return decode_signals(beginning_at(read.first, args_.signals), head,
                                  {a, group, plan_.weight_stride(), read.count}, sorted);
        float* whole = sorted + ranks_;
        std::fill_n(whole, group * ranks_, 0.0f);
        for (int64_t g = 0; g < group; ++g)
            for (int64_t i = 0; i < read.count; ++i)
                whole[g * ranks_ + read.ranks[i]] = a[g * plan_.weight_stride() + i];
        decode_signals(args_.signals, head, {whole, group, ranks_, ranks}, sorted);
    }

private:
    size_t floats() const { return static_cast<size_t>(ranks_ * (spread_ ? 1 + int64_t{args_.shape.group()} : 1)); }

    const DecodeAttendArgs& args_;
    const SegmentPlan& plan_;
    const PageSelector& retrieving_;
    CpuContext& context_;
    bool wanted_ = false, spread_ = false; // spread_: some list is read in part
    int64_t ranks_ = 0;                    // length of the longest list
};

} // namespace

void decode_attend(const DecodeAttendArgs& args, CpuContext& context)
{
    PageSelector retrieving(args, context);
    SegmentPlan plan(args, retrieving, context);
    const SignalRows signals(args, plan, retrieving, context);
    const auto attend_segment = HWY_DYNAMIC_DISPATCH(AttendDecodeSegment);
    const int64_t heads = args.shape.kv_heads;
    const auto attend_all = [&](DecodePass pass) {
        context.threads.run(plan.tasks(), [&](int64_t task, int worker) {
            const int64_t head = task % heads, index = task / heads;
            if (index < plan.segments_of(head)) attend_segment(args, plan.segment(head, index, worker), pass);
        });
    };
    retrieving.choose();
    if (retrieving.by_mass()) {
        attend_all(DecodePass::Keys);
        const auto orders = static_cast<size_t>(plan.weight_stride());
        context.reserve<uint32_t>(ScratchUse::ReadRanks, orders);
        context.threads.run(args.shape.query_heads, [&](int64_t query_head, int worker) {
            uint32_t* order = context.worker_scratch(worker, ScratchUse::ReadRanks).get<uint32_t>(orders);
            apply_top_p(args, plan, retrieving, query_head, order);
        });
        attend_all(DecodePass::Values);
    } else {
        attend_all(DecodePass::Both);
    }
    context.threads.run(heads, [&](int64_t head, int worker) {
        combine_head(args, plan, head, worker);
        signals.signal(head, worker);
        if (wants_signals(args.signals))
            clear_unseen(args.signals, args.shape.group(), head, retrieving.list(head).first);
    });
    write_key_norms(args.shape, {args.qkv, static_cast<size_t>(args.shape.qkv_width())}, args.lists.used,
                    args.signals);
    write_key_similarities({.shape = args.shape, .pool = args.pool, .lists = args.lists, .pooled = 1}, args.signals,
                           context);
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
