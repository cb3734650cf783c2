#include "kernels/cpu/full_attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/gemm_blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/full_attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/micro_kernel-inl.h"
#include "kernels/cpu/transpose_panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
using cpu::RowPanels;

// One head of a text, and its scratch memory. The keys and values are packed as left operands of MicroTile, and NR
// queries at a time are the right one, so that a vector holds one logit of each of its queries.
struct TextHead {
    const float *queries, *keys, *values; // [tokens, head_dim], rows `stride` apart
    float* out;                           // [tokens, head_dim], rows `out_stride` apart
    int64_t tokens, dim, stride, out_stride;
    float *packed_keys, *packed_values; // [tokens * head_dim]
    float* panel;                       // [head_dim, NR]: queries, then outputs
    float* rows;                        // [NR, head_dim]
    float* logits;                      // [tokens, NR]; becomes the softmax weights

    int64_t end = 0; // scratch floats that are given out so far
    float* take(float* scratch, int64_t floats)
    {
        float* begin = scratch ? scratch + end : nullptr;
        end += (floats + 15) / 16 * 16;
        return begin;
    }
    TextHead(const cpu::FullAttention& args, int64_t head, float* scratch)
        : queries(args.qkv + head * args.head_dim), keys(queries + args.heads * args.head_dim),
          values(keys + args.heads * args.head_dim), out(args.out + head * args.head_dim), tokens(args.tokens),
          dim(args.head_dim), stride(3 * args.heads * args.head_dim), out_stride(args.heads * args.head_dim)
    {
        packed_keys = take(scratch, tokens * dim);
        packed_values = take(scratch, tokens * dim);
        panel = take(scratch, dim * NR);
        rows = take(scratch, NR * dim);
        logits = take(scratch, tokens * NR);
    }
};

void pack_keys_and_values(const TextHead& head, const RowPanels& ranks, const RowPanels& dims)
{
    for (int64_t p = 0; p < ranks.count; ++p)
        PackRowsA(head.keys + ranks.begin(p) * head.stride, head.stride, ranks.height(p), head.dim,
                  head.packed_keys + ranks.begin(p) * head.dim);
    for (int64_t p = 0; p < dims.count; ++p) {
        float* packed = head.packed_values + dims.begin(p) * head.tokens;
        for (int64_t rank = 0; rank < head.tokens; ++rank, packed += dims.height(p))
            std::copy_n(head.values + rank * head.stride + dims.begin(p), dims.height(p), packed);
    }
}

// Loads queries [first, first + count), divided by sqrt(head_dim), to the panel; the others of the panel are zero.
void load_query_panel(const TextHead& head, int64_t first, int64_t count)
{
    const float scale = 1.0f / std::sqrt(static_cast<float>(head.dim));
    for (int64_t r = 0; r < count; ++r)
        for (int64_t i = 0; i < head.dim; ++i)
            head.rows[r * head.dim + i] = head.queries[(first + r) * head.stride + i] * scale;
    std::fill(head.rows + count * head.dim, head.rows + NR * head.dim, 0.0f);
    TransposePanel(head.rows, head.dim, head.dim, head.panel);
}

// Replaces the logits of each lane by e^(logit - largest), and returns their sums.
template<class D>
HWY_INLINE hn::Vec<D> exponentiate_lanes(D d, float* HWY_RESTRICT logits, int64_t tokens)
{
    auto largest = hn::Load(d, logits);
    for (int64_t rank = 1; rank < tokens; ++rank)
        largest = hn::Max(largest, hn::Load(d, logits + rank * NR));
    auto sum = hn::Zero(d);
    for (int64_t rank = 0; rank < tokens; ++rank) {
        const auto weight = Exp(d, hn::Sub(hn::Load(d, logits + rank * NR), largest));
        hn::Store(weight, d, logits + rank * NR);
        sum = hn::Add(sum, weight);
    }
    return sum;
}

void attend_query_panel(const TextHead& head, const RowPanels& ranks, const RowPanels& dims, int64_t first)
{
    const hn::ScalableTag<float> d;
    const int64_t lanes = NR / 2, count = std::min(NR, head.tokens - first);
    load_query_panel(head, first, count);
    for (int64_t p = 0; p < ranks.count; ++p)
        MicroTile(ranks.height(p), head.packed_keys + ranks.begin(p) * head.dim, head.panel, head.dim,
                  head.logits + ranks.begin(p) * NR, NR, true);
    const auto left = exponentiate_lanes(d, head.logits, head.tokens);
    const auto right = exponentiate_lanes(d, head.logits + lanes, head.tokens);
    for (int64_t p = 0; p < dims.count; ++p)
        MicroTile(dims.height(p), head.packed_values + dims.begin(p) * head.tokens, head.logits, head.tokens,
                  head.panel + dims.begin(p) * NR, NR, true);
    for (int64_t i = 0; i < head.dim; ++i) {
        float* row = head.panel + i * NR;
        hn::Store(hn::Div(hn::Load(d, row), left), d, row);
        hn::Store(hn::Div(hn::Load(d, row + lanes), right), d, row + lanes);
    }
    for (int64_t r = 0; r < count; ++r)
        for (int64_t i = 0; i < head.dim; ++i)
            head.out[(first + r) * head.out_stride + i] = head.panel[i * NR + r];
}

void attend_text_head(const cpu::FullAttention& args, int64_t number, float* scratch)
{
    const TextHead head(args, number, scratch);
    const RowPanels ranks(head.tokens, MR), dims(head.dim, MR);
    pack_keys_and_values(head, ranks, dims);
    for (int64_t first = 0; first < head.tokens; first += NR)
        attend_query_panel(head, ranks, dims, first);
}

int64_t text_head_floats(const cpu::FullAttention& args)
{
    return TextHead(args, 0, nullptr).end;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels::cpu {

HWY_EXPORT(attend_text_head);
HWY_EXPORT(text_head_floats);

size_t full_attention_floats(const FullAttention& args)
{
    return static_cast<size_t>(HWY_DYNAMIC_DISPATCH(text_head_floats)(args));
}

void attend_fully(const FullAttention& args, int64_t head, float* scratch)
{
    HWY_DYNAMIC_DISPATCH(attend_text_head)(args, head, scratch);
}

} // namespace palimpsest::kernels::cpu
#endif
