// Rows of quantised blocks: conversion to f32, and products with activations. Q8_0 has kernels of its own.
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_BLOCK_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_BLOCK_ROWS_INL_H
#undef PALIMPSEST_KERNELS_CPU_BLOCK_ROWS_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_BLOCK_ROWS_INL_H
#endif

#include <algorithm>

#include "hwy/cache_control.h"
#include "kernels/base/convert.h"
#include "kernels/cpu/q8_0-inl.h"
#include "kernels/cpu/summed_row.h"
#include "kernels/cpu/super_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

using cpu::PreparedRow;

#if HWY_TARGET != HWY_SCALAR

// Unpacks `count` <= 256 elements, a whole number of blocks.
template<DType type>
HWY_INLINE void UnpackBlocks(const std::byte* HWY_RESTRICT from, int64_t count, UnpackedWeights& to)
{
    using Blocks = BlocksOf<type>;
    if constexpr (Blocks::elements == super_block) {
        (void)count;
        Blocks::Unpack(from, {to.q, to.scale, to.offset});
    } else {
#pragma GCC unroll 8
        for (int64_t b = 0; b < count / Blocks::elements; ++b)
            Blocks::Unpack(from + b * Blocks::bytes, {to.q + b * Blocks::elements, to.scale + b, to.offset + b});
    }
}

// Converts to f32, bit for bit as dequantise.h does. REQUIRES: count is a whole number of blocks.
template<DType type>
void WidenBlocks(const std::byte* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t count)
{
    using Blocks = BlocksOf<type>;
    const hn::CappedTag<float, 16> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    UnpackedWeights weights{};
    for (int64_t i = 0; i < count; i += super_block, from += super_block / Blocks::elements * Blocks::bytes) {
        const int64_t here = std::min<int64_t>(super_block, count - i);
        UnpackBlocks<type>(from, here, weights);
        for (int g = 0; g < static_cast<int>(here) / Blocks::group; ++g)
            for (int j = g * Blocks::group; j < (g + 1) * Blocks::group; j += lanes) {
                const auto q = SignedBytes(d, reinterpret_cast<const std::byte*>(weights.q + j));
                auto value = hn::Mul(hn::Set(d, weights.scale[g]), q);
                if constexpr (Blocks::has_offset) value = hn::Add(value, hn::Set(d, weights.offset[g]));
                hn::StoreU(value, d, to + i + j);
            }
    }
}

// Four independent chains of sums hide the latency of the multiply-adds.
constexpr int dot_chains = 4;

// Adds the products of `groups` groups to `totals`, without the offsets.
template<DType type, class D, class V>
HWY_INLINE void AddGroups(D d, const UnpackedWeights& weights, const float* HWY_RESTRICT x, int groups,
                          V (&totals)[dot_chains])
{
    constexpr int group = BlocksOf<type>::group;
    const int lanes = static_cast<int>(hn::Lanes(d));
#pragma GCC unroll 16
    for (int g = 0; g < groups; ++g) {
        const auto* q = reinterpret_cast<const std::byte*>(weights.q + g * group);
        const float* xs = x + g * group;
        auto sum = hn::Mul(SignedBytes(d, q), hn::LoadU(d, xs));
        for (int j = lanes; j < group; j += lanes)
            sum = hn::MulAdd(SignedBytes(d, q + j), hn::LoadU(d, xs + j), sum);
        totals[g % dot_chains] = hn::MulAdd(sum, hn::Set(d, weights.scale[g]), totals[g % dot_chains]);
    }
}

// The dot product of a row: each scale multiplies the sum of its group's products, each offset the sum of the
// group's activations. Prefetches in software, because the hardware prefetcher stops at memory page boundaries.
template<DType type>
float DotBlocks(const std::byte* HWY_RESTRICT w, const PreparedRow& row, int64_t cols)
{
    using Blocks = BlocksOf<type>;
    constexpr int groups = super_block / Blocks::group, bytes = super_block / Blocks::elements * Blocks::bytes;
    constexpr int ahead = 2048; // bytes
    const hn::CappedTag<float, 16> d;
    const hn::CappedTag<float, 8> d8;
    const float* HWY_RESTRICT sums = Blocks::group == 16 ? row.sums16 : row.sums32;
    hn::Vec<decltype(d)> totals[dot_chains];
    for (auto& total : totals)
        total = hn::Zero(d);
    auto offsets = hn::Zero(d8);
    UnpackedWeights weights{};
    int64_t i = 0;
    for (; i + super_block <= cols; i += super_block, w += bytes) {
        for (int line = 0; line < bytes; line += 64)
            hwy::Prefetch(w + ahead + line);
        UnpackBlocks<type>(w, super_block, weights);
        AddGroups<type>(d, weights, row.x + i, groups, totals);
        if constexpr (Blocks::has_offset)
            for (int g = 0; g < groups; g += static_cast<int>(hn::Lanes(d8)), sums += hn::Lanes(d8))
                offsets = hn::MulAdd(hn::Load(d8, weights.offset + g), hn::LoadU(d8, sums), offsets);
    }
    float offset = hn::GetLane(hn::SumOfLanes(d8, offsets));
    if (i < cols) {
        UnpackBlocks<type>(w, cols - i, weights);
        const int left = static_cast<int>(cols - i) / Blocks::group;
        AddGroups<type>(d, weights, row.x + i, left, totals);
        if constexpr (Blocks::has_offset)
            for (int g = 0; g < left; ++g)
                offset += weights.offset[g] * sums[g];
    }
    const auto total = hn::Add(hn::Add(totals[0], totals[1]), hn::Add(totals[2], totals[3]));
    return hn::GetLane(hn::SumOfLanes(d, total)) + offset;
}

// Calls use.operator()<t>() with t = type as a compile-time constant. REQUIRES: a type with blocks other than Q8_0.
template<class Use>
HWY_INLINE auto WithBlocks(DType type, const Use& use)
{
    switch (type) {
    case DType::Q4_0:
        return use.template operator()<DType::Q4_0>();
    case DType::Q4_1:
        return use.template operator()<DType::Q4_1>();
    case DType::Q5_0:
        return use.template operator()<DType::Q5_0>();
    case DType::Q5_1:
        return use.template operator()<DType::Q5_1>();
    case DType::Q2_K:
        return use.template operator()<DType::Q2_K>();
    case DType::Q3_K:
        return use.template operator()<DType::Q3_K>();
    case DType::Q4_K:
        return use.template operator()<DType::Q4_K>();
    case DType::Q5_K:
        return use.template operator()<DType::Q5_K>();
    case DType::Q6_K:
        return use.template operator()<DType::Q6_K>();
    case DType::IQ4_NL:
        return use.template operator()<DType::IQ4_NL>();
    case DType::IQ4_XS:
        return use.template operator()<DType::IQ4_XS>();
    default:
        return use.template operator()<DType::MXFP4>();
    }
}

#endif

// Converts elements of a row of weights of any type to f32. REQUIRES: `from` is at a block boundary, and count is a
// whole number of blocks.
inline void WidenWeights(DType type, const std::byte* from, float* to, int64_t count)
{
    if (info(type).block == 1) return WidenRow(type, from, to, count);
    if (type == DType::Q8_0) return WidenQ8Row(from, to, count);
#if HWY_TARGET == HWY_SCALAR
    to_f32(type, from, to, count);
#else
    WithBlocks(type, [&]<DType t>() { WidenBlocks<t>(from, to, count); });
#endif
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
