// How the matrix products of many rows, gemm and fixed_point_gemm, cut their work.
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// Depth of a block of W. Fixed, whatever the thread count: it decides how a sum is rounded.
inline constexpr int64_t KC = 256;

// Columns of a block of W, which stays in L2 (as f32, 128 or 256 kB) while all rows pass by. The packed rows are
// read from L3 once for every block where they do not fit in L2, so that blocks are wide unless threads would be
// idle.
inline constexpr int64_t narrow_block = 128, wide_block = 256;

inline int64_t block_columns(int64_t columns, int threads)
{
    return columns >= 4 * wide_block * threads ? wide_block : narrow_block;
}

// Rows cut into panels of nearly equal height, none above `most`.
struct RowPanels {
    RowPanels(int64_t total, int64_t most) : rows(total), count((total + most - 1) / most) {}
    int64_t begin(int64_t panel) const { return rows * panel / count; }
    int height(int64_t panel) const { return static_cast<int>(begin(panel + 1) - begin(panel)); }

    int64_t rows, count;
};

} // namespace palimpsest::kernels::cpu
