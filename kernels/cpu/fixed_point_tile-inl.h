// The tile of fixed_point_gemm: C[rows, NR] (+)= A[rows, k] B[k, NR], with A in 16-bit fixed point.
//
// An activation is x = scale * (256 high + low) with signed bytes. A weight is w = scale * code + offset with an
// unsigned byte, and its scale and offset belong to a group of 16 or 32 along k, so that
//     sum w x = scale_w scale_x (256 sum code high + sum code low) + offset_w scale_x sum (256 high + low)
// whose integer sums are computed with vpdpbusd. For the panels see "Anatomy of High-Performance Matrix
// Multiplication" (Goto, van de Geijn 2008).
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard. It is empty below the target AVX3. VNNI is
// not part of AVX3, so the instruction is written as inline assembly, and callers check the processor first.
#if defined(PALIMPSEST_KERNELS_CPU_FIXED_POINT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_FIXED_POINT_TILE_INL_H
#undef PALIMPSEST_KERNELS_CPU_FIXED_POINT_TILE_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_FIXED_POINT_TILE_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cpu/transpose_panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3 // AVX3, and the better targets of newer versions of Highway

// Rows of a tile. Six rows need 24 vectors of sums, two of codes and a broadcast value, and leave a few registers
// for scales.
inline constexpr int fixed_point_rows = 6;

// fixed_group activations share a scale; a quad is the four of them that one vector lane multiplies.
inline constexpr int64_t fixed_group = 32, quad = 4, quads = fixed_group / quad;

// The packed activations of a row panel have these words for each group of 32 columns: [quad][row] four high bytes,
// [quad][row] four low bytes, [row] the scale, and [RowSums][row] the scale times the sum of the activations.
enum class RowSums { First16, Last16, All };
inline constexpr int64_t packed_words = 2 * quads + 4; // 32-bit words per row

struct PackedGroup {
    const int32_t* words;
    int rows;

    const int32_t* high() const { return words; }
    const int32_t* low() const { return words + quads * rows; }
    const float* scale() const { return floats(0); }
    const float* sum(RowSums which) const { return floats(1 + static_cast<int>(which)); }

private:
    const float* floats(int i) const { return reinterpret_cast<const float*>(words) + (2 * quads + i) * rows; }
};

// NR columns of the product, which are rows of W: per quad [NR] codes of four bytes, per group [NR] scales and [NR]
// offsets.
struct CodePanel {
    const uint8_t* codes;
    const float* scale;
    const float* offset;
};

HWY_INLINE void AddByteProducts(__m512i& sum, __m512i codes, __m512i activations)
{
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(activations));
}

// Adds codes times the high or the low bytes of the activations, for `count` quads, to the sums of all rows.
template<int rows, int count>
HWY_INLINE void AddQuads(const uint8_t* HWY_RESTRICT codes, const int32_t* HWY_RESTRICT activations,
                         __m512i (&left)[rows], __m512i (&right)[rows])
{
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j, codes += quad * NR, activations += rows) {
        const __m512i code_left = _mm512_load_si512(codes), code_right = _mm512_load_si512(codes + quad * NR / 2);
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) {
            const __m512i four = _mm512_set1_epi32(activations[r]);
            AddByteProducts(left[r], code_left, four);
            AddByteProducts(right[r], code_right, four);
        }
    }
}

// Masks for the columns of a tile that exist in C: the first `columns` of NR.
struct TileColumns {
    explicit TileColumns(int64_t columns)
        : left(static_cast<__mmask16>((1u << std::min<int64_t>(columns, 16)) - 1)),
          right(static_cast<__mmask16>((1u << std::clamp<int64_t>(columns - 16, 0, 16)) - 1))
    {
    }
    __mmask16 left, right;
};

// Computes a tile with a compile-time number of rows, so that the sums stay in registers.
template<int rows, int group>
HWY_INLINE void FixedPointTile(const int32_t* HWY_RESTRICT packed, const CodePanel& panel, int64_t k,
                               float* HWY_RESTRICT c, int64_t ldc, bool first, TileColumns columns)
{
    constexpr int count = group / quad;
    __m512 left[rows], right[rows];
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r)
        left[r] = right[r] = _mm512_setzero_ps();
    const uint8_t* codes = panel.codes;
    const float *scale = panel.scale, *offset = panel.offset;
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += fixed_group, packed += packed_words * rows) {
        const PackedGroup a{packed, rows};
#pragma GCC unroll 2
        for (int part = 0; part < fixed_group / group; ++part) {
            const RowSums which = group == fixed_group ? RowSums::All : static_cast<RowSums>(part);
            __m512i sum_left[rows], sum_right[rows];
#pragma GCC unroll 6
            for (int r = 0; r < rows; ++r)
                sum_left[r] = sum_right[r] = _mm512_setzero_si512();
            AddQuads<rows, count>(codes, a.high() + part * count * rows, sum_left, sum_right);
#pragma GCC unroll 6
            for (int r = 0; r < rows; ++r) {
                sum_left[r] = _mm512_slli_epi32(sum_left[r], 8);
                sum_right[r] = _mm512_slli_epi32(sum_right[r], 8);
            }
            AddQuads<rows, count>(codes, a.low() + part * count * rows, sum_left, sum_right);
            codes += count * quad * NR;
            const __m512 scale_left = _mm512_load_ps(scale), scale_right = _mm512_load_ps(scale + NR / 2);
            const __m512 offset_left = _mm512_load_ps(offset), offset_right = _mm512_load_ps(offset + NR / 2);
            scale += NR, offset += NR;
#pragma GCC unroll 6
            for (int r = 0; r < rows; ++r) {
                const __m512 of_x = _mm512_set1_ps(a.scale()[r]), sum = _mm512_set1_ps(a.sum(which)[r]);
                left[r] = _mm512_fmadd_ps(offset_left, sum, left[r]);
                right[r] = _mm512_fmadd_ps(offset_right, sum, right[r]);
                const __m512 x_left = _mm512_mul_ps(_mm512_cvtepi32_ps(sum_left[r]), of_x);
                const __m512 x_right = _mm512_mul_ps(_mm512_cvtepi32_ps(sum_right[r]), of_x);
                left[r] = _mm512_fmadd_ps(scale_left, x_left, left[r]);
                right[r] = _mm512_fmadd_ps(scale_right, x_right, right[r]);
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r, c += ldc) {
        if (!first) {
            left[r] = _mm512_add_ps(_mm512_maskz_loadu_ps(columns.left, c), left[r]);
            right[r] = _mm512_add_ps(_mm512_maskz_loadu_ps(columns.right, c + NR / 2), right[r]);
        }
        _mm512_mask_storeu_ps(c, columns.left, left[r]);
        _mm512_mask_storeu_ps(c + NR / 2, columns.right, right[r]);
    }
}

// C[rows, columns] = A B if `first`, else C += A B. REQUIRES: 1 <= rows <= fixed_point_rows; k is a whole number of
// groups of 32; columns <= NR, and the panel's columns beyond them are readable.
template<int group>
void FixedPointTile(int rows, const int32_t* packed, const CodePanel& panel, int64_t k, float* c, int64_t ldc,
                    bool first, TileColumns columns)
{
    switch (rows) {
    case 1:
        return FixedPointTile<1, group>(packed, panel, k, c, ldc, first, columns);
    case 2:
        return FixedPointTile<2, group>(packed, panel, k, c, ldc, first, columns);
    case 3:
        return FixedPointTile<3, group>(packed, panel, k, c, ldc, first, columns);
    case 4:
        return FixedPointTile<4, group>(packed, panel, k, c, ldc, first, columns);
    case 5:
        return FixedPointTile<5, group>(packed, panel, k, c, ldc, first, columns);
    default:
        return FixedPointTile<6, group>(packed, panel, k, c, ldc, first, columns);
    }
}

// The scale of 32 activations, and the factor that converts them to 16-bit integers.
struct GroupScale {
    float scale, factor;
};

// The largest integer that splits into a signed high and a signed low byte.
inline constexpr float largest_fixed = 127 * 256 + 127;

HWY_INLINE GroupScale ScaleOfGroup(__m512 x0, __m512 x1)
{
    // Clears the sign. The bits of magnitudes, as integers, are ordered like the floats.
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    const __m512i largest = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(x0), magnitude),
                                             _mm512_and_si512(_mm512_castps_si512(x1), magnitude));
    const float size = std::bit_cast<float>(_mm512_reduce_max_epi32(largest));
    if (!(size <= std::numeric_limits<float>::max())) return {std::numeric_limits<float>::quiet_NaN(), 0.0f};
    if (size < 0x1p-100f) return {0.0f, 0.0f}; // or the factor would overflow
    return {size / largest_fixed, largest_fixed / size};
}

// Packs 16 activations: writes four words of high and four of low bytes, each `rows` words from the next.
HWY_INLINE void PackSixteen(__m512 x, float factor, int rows, int32_t* HWY_RESTRICT high, int32_t* HWY_RESTRICT low)
{
    const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(x, _mm512_set1_ps(factor)));
    const __m512i lows = _mm512_srai_epi32(_mm512_slli_epi32(whole, 24), 24);
    const __m512i highs = _mm512_srai_epi32(_mm512_sub_epi32(whole, lows), 8);
    alignas(16) int32_t four[2][4];
    _mm_store_si128(reinterpret_cast<__m128i*>(four[0]), _mm512_cvtepi32_epi8(highs));
    _mm_store_si128(reinterpret_cast<__m128i*>(four[1]), _mm512_cvtepi32_epi8(lows));
    for (int j = 0; j < 4; ++j) {
        high[j * rows] = four[0][j];
        low[j * rows] = four[1][j];
    }
}

// Returns, for every row, the sum of the high or low bytes of 16 activations.
HWY_INLINE __m512i SumQuads(const int32_t* words, int rows, __mmask16 lanes)
{
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum = _mm512_setzero_si512();
    for (int j = 0; j < 4; ++j)
        AddByteProducts(sum, ones, _mm512_maskz_loadu_epi32(lanes, words + j * rows));
    return sum;
}

// Stores the sums of each row's activations times their scale. REQUIRES: all rows of the group are packed.
HWY_INLINE void PutSums(int32_t* words, int rows)
{
    const auto lanes = static_cast<__mmask16>((1u << rows) - 1);
    float* floats = reinterpret_cast<float*>(words) + 2 * quads * rows;
    const __m512 scale = _mm512_maskz_loadu_ps(lanes, floats);
    __m512 all = _mm512_setzero_ps();
    for (int half = 0; half < 2; ++half) {
        const int32_t* high = words + half * 4 * rows;
        const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(SumQuads(high, rows, lanes), 8),
                                             SumQuads(high + quads * rows, rows, lanes));
        const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
        _mm512_mask_storeu_ps(floats + (1 + half) * rows, lanes, scaled);
        all = _mm512_add_ps(all, scaled);
    }
    _mm512_mask_storeu_ps(floats + 3 * rows, lanes, all);
}

// Packs one row of a panel of `rows` rows; `packed` is the beginning of the panel.
HWY_INLINE void PackFixedPointRow(const float* HWY_RESTRICT x, int64_t groups, int row, int rows, int32_t* packed)
{
    for (int64_t g = 0; g < groups; ++g, x += fixed_group, packed += packed_words * rows) {
        const __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + 16);
        const GroupScale scale = ScaleOfGroup(x0, x1);
        int32_t *high = packed + row, *low = high + quads * rows;
        PackSixteen(x0, scale.factor, rows, high, low);
        PackSixteen(x1, scale.factor, rows, high + 4 * rows, low + 4 * rows);
        std::memcpy(packed + 2 * quads * rows + row, &scale.scale, sizeof scale.scale);
    }
}
#endif
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
