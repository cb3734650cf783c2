// Logits of a tile of stacked query rows against 64 keys on CUDA cores, for any head_dim. Prefill attention and
// its signals use this where there are no tensor cores for a type or a head size.
#pragma once

#include "kernels/cuda/attention/prefill_rows.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/linear/soft_cap.h"

namespace palimpsest::kernels::cuda {

inline constexpr int tile_rows = 32, tile_ranks = 64, tile_dims = 32, tile_threads = 128;

// A block's shared memory. Strides are odd, so that lanes that read a column use different banks.
struct AttentionTile {
    float queries[tile_rows][tile_dims + 1];
    float keys[tile_ranks][tile_dims + 1]; // values, once the scores are computed
    float scores[tile_rows][tile_ranks + 1];
};

// The rank after the last one that stacked row x (prefill_rows.h) attends to.
__device__ inline int32_t visible_ranks(const RotatedRows& rotated, int64_t head, int64_t x)
{
    return rotated.used[head] + static_cast<int32_t>(x / rotated.group) + 1;
}

// The first rank that stacked row x attends to.
__device__ inline int32_t first_visible(const RotatedRows& rotated, int64_t head, int64_t x)
{
    return rotated.first_rank(visible_ranks(rotated, head, x));
}

// The first rank of the tile that contains first_visible.
__device__ inline int32_t first_tile(const RotatedRows& rotated, int64_t head, int64_t x)
{
    return first_visible(rotated, head, x) / tile_ranks * tile_ranks;
}

// Loads dimensions [first, first + tile_dims) of `count` rows from `row` on, zero beyond head_dim. All threads of
// the block call together.
template<DType type, int count>
__device__ inline void load_tile(const void* rows, int64_t row, int32_t dim, int32_t first,
                                 float (*to)[tile_dims + 1])
{
    for (int x = static_cast<int>(threadIdx.x); x < count * tile_dims; x += tile_threads) {
        const int i = x / tile_dims, d = first + x % tile_dims;
        to[i][x % tile_dims] = d < dim ? load<type>(rows, (row + i) * dim + d) : 0.0f;
    }
}

// Computes tile.scores, the logits of tile_rows queries from first_row on and tile_ranks keys from first_rank on.
// Every sum runs over the dimensions in order. Ends with a __syncthreads().
template<DType type>
__device__ inline void tile_scores(const RotatedRows& rotated, int64_t head, int64_t first_row, int64_t first_rank,
                                   AttentionTile& tile)
{
    constexpr int each = 4; // a thread computes 4 rows by 4 ranks
    const int lane = static_cast<int>(threadIdx.x) % 16, own_row = static_cast<int>(threadIdx.x) / 16 * each;
    float sums[each][each] = {};
    for (int32_t first = 0; first < rotated.dim; first += tile_dims) {
        __syncthreads();
        load_tile<type, tile_rows>(rotated.queries, head * rotated.query_stride + first_row, rotated.dim, first,
                                   tile.queries);
        load_tile<type, tile_ranks>(rotated.keys, head * rotated.key_stride + first_rank, rotated.dim, first,
                                    tile.keys);
        __syncthreads();
#pragma unroll 8
        for (int d = 0; d < tile_dims; ++d) {
            float query[each], key[each];
#pragma unroll
            for (int i = 0; i < each; ++i) {
                query[i] = tile.queries[own_row + i][d];
                key[i] = tile.keys[lane + 16 * i][d];
            }
#pragma unroll
            for (int i = 0; i < each; ++i)
#pragma unroll
                for (int j = 0; j < each; ++j)
                    sums[i][j] = fmaf(query[i], key[j], sums[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < each; ++i)
#pragma unroll
        for (int j = 0; j < each; ++j)
            tile.scores[own_row + i][lane + 16 * j] = softly_capped(rotated.soft_cap, sums[i][j]);
    __syncthreads();
}

} // namespace palimpsest::kernels::cuda
