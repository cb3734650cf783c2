// The f32 tile of the matrix products on the CPU: C[rows, NR] (+)= A[rows, k] B[k, NR].
//
// Both operands are packed, k outermost: A as [k][rows], B as [k][NR]. Each element of C is one chain of
// multiply-adds (fused, or separate on targets without FMA) over ascending k, whatever `rows` is, so the bits of a
// row never depend on the rows computed with it. See "Anatomy of High-Performance Matrix Multiplication" (Goto, van
// de Geijn 2008).
//
// Included once per SIMD target; see hwy/foreach_target.h for the guard.
#if defined(PALIMPSEST_KERNELS_CPU_MICRO_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PALIMPSEST_KERNELS_CPU_MICRO_KERNEL_INL_H
#undef PALIMPSEST_KERNELS_CPU_MICRO_KERNEL_INL_H
#else
#define PALIMPSEST_KERNELS_CPU_MICRO_KERNEL_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns of a tile: two vectors.
inline constexpr int64_t NR = 2 * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));

// Rows of a tile: as many as the registers allow beside two vectors of B and a broadcast value of A.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int MR = 14;
#elif HWY_TARGET == HWY_NEON
inline constexpr int MR = 12;
#else
inline constexpr int MR = 6;
#endif

// packed[p * rows + r] = x[r * ldx + p], for p < k and r < rows.
HWY_INLINE void PackRowsA(const float* HWY_RESTRICT x, int64_t ldx, int rows, int64_t k, float* HWY_RESTRICT packed)
{
    for (int64_t p = 0; p < k; ++p, packed += rows)
        for (int r = 0; r < rows; ++r)
            packed[r] = x[r * ldx + p];
}

// The tile with a compile-time number of rows, so that C stays in registers.
template<int rows>
HWY_INLINE void MicroTile(const float* HWY_RESTRICT packed_a, const float* HWY_RESTRICT packed_b, int64_t k,
                          float* HWY_RESTRICT c, int64_t ldc, bool first)
{
    const hn::ScalableTag<float> d;
    const int64_t lanes = NR / 2;
    hn::Vec<decltype(d)> left[rows], right[rows];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
        left[r] = right[r] = hn::Zero(d);
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; ++p, packed_a += rows, packed_b += NR) {
        const auto b_left = hn::Load(d, packed_b);
        const auto b_right = hn::Load(d, packed_b + lanes);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            const auto a = hn::Set(d, packed_a[r]);
            left[r] = hn::MulAdd(a, b_left, left[r]);
            right[r] = hn::MulAdd(a, b_right, right[r]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r, c += ldc) {
        if (!first) {
            left[r] = hn::Add(hn::LoadU(d, c), left[r]);
            right[r] = hn::Add(hn::LoadU(d, c + lanes), right[r]);
        }
        hn::StoreU(left[r], d, c);
        hn::StoreU(right[r], d, c + lanes);
    }
}

// C[rows, NR] = A B if `first`, else C += A B. The product is summed over k before it is added to C, so long sums
// accumulate block by block. REQUIRES: 1 <= rows <= MR; packed_b aligned to a vector.
inline void MicroTile(int rows, const float* packed_a, const float* packed_b, int64_t k, float* c, int64_t ldc,
                      bool first)
{
#define PALIMPSEST_TILE(n)                                                                                         \
    case n:                                                                                                        \
        if constexpr ((n) <= MR) MicroTile<n>(packed_a, packed_b, k, c, ldc, first);                               \
        return;
    switch (rows) {
        PALIMPSEST_TILE(1)
        PALIMPSEST_TILE(2)
        PALIMPSEST_TILE(3)
        PALIMPSEST_TILE(4)
        PALIMPSEST_TILE(5)
        PALIMPSEST_TILE(6)
        PALIMPSEST_TILE(7)
        PALIMPSEST_TILE(8)
        PALIMPSEST_TILE(9)
        PALIMPSEST_TILE(10)
        PALIMPSEST_TILE(11)
        PALIMPSEST_TILE(12)
        PALIMPSEST_TILE(13)
        PALIMPSEST_TILE(14)
    }
#undef PALIMPSEST_TILE
}

// Like MicroTile, for a tile at the right edge, of which only the first `columns` <= NR columns exist in C. The
// other columns of packed_b must be readable; their products are ignored.
inline void MicroTileEdge(int rows, const float* packed_a, const float* packed_b, int64_t k, float* c, int64_t ldc,
                          bool first, int64_t columns)
{
    if (columns == NR) return MicroTile(rows, packed_a, packed_b, k, c, ldc, first);
    HWY_ALIGN float whole[MR * NR] = {};
    MicroTile(rows, packed_a, packed_b, k, whole, NR, true);
    for (int r = 0; r < rows; ++r)
        for (int64_t j = 0; j < columns; ++j)
            c[r * ldc + j] = first ? whole[r * NR + j] : c[r * ldc + j] + whole[r * NR + j];
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#endif
