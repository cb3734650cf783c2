// How the matrix products of many rows, gemm and fixed_point_gemm, split their work into blocks.
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// Depth (columns of x) of a block of W. It determines how a sum is rounded, so it does not depend on the thread
// count.
inline constexpr int64_t KC = 256;

// Columns of the product in a block. The block of W (as f32, 128 or 256 kB) stays in L2 while it is multiplied with
// all rows of x. Packed rows of x that do not fit in L2 are read from L3 once per block, so blocks are wide unless
// that would leave threads idle.
inline constexpr int64_t narrow_block = 128, wide_block = 256;

inline int64_t block_columns(int64_t columns, int threads)
{
    return columns >= 4 * wide_block * threads ? wide_block : narrow_block;
}

// Splits `total` rows into panels of nearly equal height, at most `most`.
struct RowPanels {
    RowPanels(int64_t total, int64_t most) : rows(total), count((total + most - 1) / most) {}
    int64_t begin(int64_t panel) const { return rows * panel / count; }
    int height(int64_t panel) const { return static_cast<int>(begin(panel + 1) - begin(panel)); }

    int64_t rows, count;
};

} // namespace palimpsest::kernels::cpu
