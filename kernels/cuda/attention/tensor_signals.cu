// A block handles 64 ranks of a KV head, each of its four warps 16. A warp keeps its keys in registers as the left
// operand, and the block goes through the query rows in tiles of 64. A lane adds up its part of the signals of two
// ranks over all these rows; at the end, the four lanes that share a rank add their parts.
#include "kernels/cuda/attention/tensor_signals.h"

#include "kernels/cuda/device/async_copy.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/mma.h"
#include "kernels/cuda/linear/soft_cap.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 128;
constexpr int block_ranks = 64, tile_queries = 64;
constexpr int vector = 8; // elements in 16 bytes
constexpr int most_group = mma_n;
constexpr float entropy_floor = 1e-10f; // added inside the logarithm of SignalRequest::entropies
static_assert(block_ranks == threads / warp_lanes * mma_m && row_padding % block_ranks == 0);

template<int dim>
struct QueryTile {
    uint16_t queries[tile_queries * dim];
    float lse[tile_queries];                             // infinite for rows from `last` on, whose weights become 0
    int32_t hidden[tile_queries], visible[tile_queries]; // ranks [hidden, visible) are attended to
    float uniform[tile_queries]; // group / visible ranks: the sum over the group if attention were uniform
};

// A lane's sums for two ranks: [0] for its `rank`, [1] for `rank` + 8.
struct LaneSums {
    float sums[2] = {}, low_counts[2] = {}, entropies[2] = {};
};

// Index of element `column` of a row. Swizzled: the same column of eight consecutive rows is in different banks.
template<int dim>
__device__ inline int place(int row, int column)
{
    return row * dim + (column / vector ^ (row & 7)) * vector;
}

// Copies the stacked rows [first, first + tile_queries) that are below `last`; the others become zero.
template<int dim>
__device__ inline void copy_queries(const RankSums& work, int64_t head, int64_t first, int64_t last,
                                    QueryTile<dim>& tile)
{
    constexpr int vectors = dim / vector;
    const RotatedRows& rotated = work.rotated;
    const auto* queries = static_cast<const uint16_t*>(rotated.queries);
    for (int i = static_cast<int>(threadIdx.x); i < tile_queries * vectors; i += threads) {
        const int row = i / vectors, column = i % vectors * vector;
        const bool exists = first + row < last;
        const int64_t from = (head * rotated.query_stride + (exists ? first + row : 0)) * dim + column;
        copy16_or_zero(tile.queries + place<dim>(row, column), queries + from, exists);
    }
    commit();
    const auto row = static_cast<int>(threadIdx.x);
    if (row >= tile_queries) return;
    const bool exists = first + row < last;
    tile.lse[row] = exists ? work.lse[head * rotated.query_stride + first + row] : __builtin_huge_valf();
    tile.visible[row] = exists ? rotated.used[head] + static_cast<int32_t>((first + row) / rotated.group) + 1 : 0;
    tile.hidden[row] = rotated.first_rank(tile.visible[row]);
    tile.uniform[row] =
        static_cast<float>(rotated.group) / static_cast<float>(tile.visible[row] - tile.hidden[row]);
}

template<int dim>
__device__ inline float low_count(const QueryTile<dim>& tile, int query, int32_t rank, float sum)
{
    return rank >= tile.hidden[query] && rank < tile.visible[query] && sum < tile.uniform[query] ? 1.0f : 0.0f;
}

// Returns how many chunk rows give a rank less than uniform attention. Each lane holds the weights of two stacked
// rows, `query` and `query` + 1. The stacked rows of one chunk row, its group of heads, begin at a multiple of the
// group size: lanes add them up by shuffles, and the lane that holds the first head counts the chunk row.
template<int dim>
__device__ inline float low_counts(const QueryTile<dim>& tile, int query, int32_t rank, int32_t group, float first,
                                   float second)
{
    if (group == 1) return low_count(tile, query, rank, first) + low_count(tile, query + 1, rank, second);
    float sum = first + second;
    for (int reach = 1; 2 * reach < group; reach *= 2)
        sum += __shfl_xor_sync(all_lanes, sum, reach);
    return query % group == 0 ? low_count(tile, query, rank, sum) : 0.0f;
}

// Adds the counts of the 16 queries from `first` on; a lane holds eight of their weights.
template<int dim>
__device__ inline void add_low_counts(const QueryTile<dim>& tile, int first, int32_t rank, int32_t group,
                                      const float (&weights)[2][4], LaneSums& lane_sums)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int query = first + i / 2 * mma_n + lane % 4 * 2, half = i % 2;
        const float(&row)[4] = weights[i / 2];
        lane_sums.low_counts[half] +=
            low_counts(tile, query, rank + 8 * half, group, row[2 * half], row[2 * half + 1]);
    }
}

// Adds the weights that the tile's rows give to ranks `rank` and `rank` + 8.
template<DType type, int dim, bool masks_or_caps, bool beyond_sums>
__device__ inline void add_tile(const RankSums& work, const uint32_t (&keys)[dim / mma_k][4], int32_t rank,
                                const QueryTile<dim>& tile, LaneSums& lane_sums)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll 1
    for (int n = 0; n < tile_queries; n += 2 * mma_n) {
        float scores[2][4] = {};
#pragma unroll
        for (int k = 0; k < dim / mma_k; ++k) {
            const int query = n + lane / 16 * 8 + lane % 8, column = k * mma_k + lane / 8 % 2 * 8;
            uint32_t matrices[4];
            load_matrices(matrices, tile.queries + place<dim>(query, column));
            const uint32_t first[2] = {matrices[0], matrices[1]}, second[2] = {matrices[2], matrices[3]};
            add_product<type>(scores[0], keys[k], first);
            add_product<type>(scores[1], keys[k], second);
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int query = n + i / 4 * mma_n + lane % 4 * 2 + i % 2, half = i % 4 / 2;
            float& score = scores[i / 4][i % 4];
            if (masks_or_caps) score = softly_capped(work.rotated.soft_cap, score);
            const float a = exp2f(score - tile.lse[query]);
            bool attends = rank + 8 * half < tile.visible[query];
            if (masks_or_caps) attends &= rank + 8 * half >= tile.hidden[query];
            score = attends ? a : 0.0f;
            lane_sums.sums[half] += score;
            if (beyond_sums) lane_sums.entropies[half] -= score * logf(score + entropy_floor);
        }
        if constexpr (beyond_sums)
            if (work.low_counts) add_low_counts(tile, n, rank, work.rotated.group, scores, lane_sums);
    }
}

__device__ inline float quad_sum(float x)
{
    x += __shfl_xor_sync(all_lanes, x, 1);
    return x + __shfl_xor_sync(all_lanes, x, 2);
}

template<DType type, int dim, bool masks_or_caps, bool beyond_sums>
__global__ void __launch_bounds__(threads) sum_ranks(RankSums work)
{
    auto* tiles = dynamic_shared<QueryTile<dim>>();
    const RotatedRows& rotated = work.rotated;
    const auto lane = static_cast<int>(threadIdx.x) % warp_lanes, warp = static_cast<int>(threadIdx.x) / warp_lanes;
    const int64_t head = blockIdx.y;
    const auto first_rank = static_cast<int32_t>(blockIdx.x) * block_ranks;
    const int32_t used = rotated.used[head], ranks = used + rotated.rows;
    const int32_t rank = first_rank + warp * mma_m + lane / 4;
    if (first_rank >= ranks) return;

    uint32_t keys[dim / mma_k][4];
    const auto* own =
        static_cast<const uint16_t*>(rotated.keys) + (head * rotated.key_stride + rank) * dim + lane % 4 * 2;
#pragma unroll
    for (int k = 0; k < dim / mma_k; ++k)
#pragma unroll
        for (int i = 0; i < 4; ++i) // laid out as A in mma.h
            keys[k][i] = *reinterpret_cast<const uint32_t*>(own + i % 2 * 8 * dim + k * mma_k + i / 2 * 8);

    const int32_t begin = work.first_row + static_cast<int32_t>(blockIdx.z) * work.split_rows;
    const int32_t end = begin + work.split_rows < rotated.rows ? begin + work.split_rows : rotated.rows;
    const int32_t first_seeing = first_rank - used; // the first chunk row that sees a rank of the block
    // From this chunk row on, all ranks of the block are outside of the row's window.
    const int32_t not_seeing =
        masks_or_caps && rotated.window > 0 ? max(first_seeing + block_ranks - 1 + rotated.window, 0) : end;
    const int64_t last = int64_t{end < not_seeing ? end : not_seeing} * rotated.group;
    const int64_t first = int64_t{begin > first_seeing ? begin : first_seeing} * rotated.group;
    LaneSums sums;
    if (first < last) copy_queries<dim>(work, head, first, last, tiles[0]);
    int at = 0;
    for (int64_t x = first; x < last; x += tile_queries, at ^= 1) {
        const bool more = x + tile_queries < last;
        if (more) {
            copy_queries<dim>(work, head, x + tile_queries, last, tiles[at ^ 1]);
            wait<1>();
        } else {
            wait<0>();
        }
        __syncthreads();
        add_tile<type, dim, masks_or_caps, beyond_sums>(work, keys, rank, tiles[at], sums);
        __syncthreads();
    }
    const int64_t to = (blockIdx.z * int64_t{work.kv_heads} + head) * rotated.key_stride + rank;
    const auto save = [&](float* plane, const float(&of_lane)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float sum = quad_sum(of_lane[half]);
            if (plane && lane % 4 == 0 && rank + 8 * half < ranks) plane[to + 8 * half] = sum;
        }
    };
    save(work.sums, sums.sums);
    if constexpr (beyond_sums) {
        save(work.low_counts, sums.low_counts);
        save(work.entropies, sums.entropies);
    }
}

template<DType type, int dim, bool beyond_sums>
void launch_sums(const RankSums& work, CudaContext& context)
{
    const dim3 grid(static_cast<unsigned>(work.rotated.key_stride / block_ranks),
                    static_cast<unsigned>(work.kv_heads), static_cast<unsigned>(work.splits));
    const Launch shape{grid, dim3(threads), 2 * sizeof(QueryTile<dim>)};
    if (work.rotated.masks_or_caps())
        launch(context, shape, sum_ranks<type, dim, true, beyond_sums>, work);
    else
        launch(context, shape, sum_ranks<type, dim, false, beyond_sums>, work);
}

template<DType type, int dim>
void launch_for_signals(const RankSums& work, CudaContext& context)
{
    if (work.low_counts || work.entropies) return launch_sums<type, dim, true>(work, context);
    launch_sums<type, dim, false>(work, context);
}

template<DType type>
void launch_for_dim(const RankSums& work, CudaContext& context)
{
    if (work.rotated.dim == 64) return launch_for_signals<type, 64>(work, context);
    launch_for_signals<type, 128>(work, context);
}

} // namespace

bool counts_low_on_tensor_cores(int32_t group)
{
    return group <= most_group && tile_queries % group == 0;
}

void sum_ranks_on_tensor_cores(const RankSums& work, CudaContext& context)
{
    if (work.rotated.type == DType::F16) return launch_for_dim<DType::F16>(work, context);
    launch_for_dim<DType::BF16>(work, context);
}

} // namespace palimpsest::kernels::cuda
