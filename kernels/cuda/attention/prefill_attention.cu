// Attention of a chunk. Queries and keys are rotated once; then each block computes a tile of stacked query rows
// (prefill_rows.h) over all keys with an online softmax, and stores log-sum-exps, from which a second pass computes
// the signals. These kernels use CUDA cores; for 16-bit staging on tensor cores: tensor_attention.cu.
#include <algorithm>

#include "kernels/cuda/attention/attention_tile.h"
#include "kernels/cuda/attention/decode_signals.h"
#include "kernels/cuda/attention/key_norms.h"
#include "kernels/cuda/attention/key_similarities.h"
#include "kernels/cuda/attention/kv_list.h"
#include "kernels/cuda/attention/prefill_forward.h"
#include "kernels/cuda/attention/prefill_signals.h"
#include "kernels/cuda/device/kernels.h"

namespace palimpsest::kernels::cuda {
namespace {

// Output rows are accumulated in shared memory up to this head_dim, beyond it in the output itself.
constexpr int32_t most_shared_dim = 256;

// Row maximum and softmax denominator of a row. The four lanes that share a row hold the same numbers.
struct RunningSoftmax {
    float top = __builtin_huge_valf() * -1, total = 0;
};

__device__ inline float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(all_lanes, x, 1));
    return fmaxf(x, __shfl_xor_sync(all_lanes, x, 2));
}

__device__ inline float quad_sum(float x)
{
    x += __shfl_xor_sync(all_lanes, x, 1);
    return x + __shfl_xor_sync(all_lanes, x, 2);
}

// Replaces the logits of a row, which four lanes share, by exp2(logit - row maximum), or by zero outside of ranks
// [hidden, attended) of the tile. Returns the factor by which sums of earlier tiles must be multiplied.
__device__ inline float add_to_softmax(AttentionTile& tile, int row, int lane, int32_t hidden, int32_t attended,
                                       RunningSoftmax& softmax)
{
    constexpr float nothing = -__builtin_huge_valf();
    float top = nothing;
    for (int i = lane; i < tile_ranks; i += 4)
        top = i >= hidden && i < attended ? fmaxf(top, tile.scores[row][i]) : top;
    top = fmaxf(softmax.top, quad_max(top));
    float total = 0;
    for (int i = lane; i < tile_ranks; i += 4) {
        const float weight = i >= hidden && i < attended ? exp2f(tile.scores[row][i] - top) : 0.0f;
        tile.scores[row][i] = weight;
        total += weight;
    }
    const float share = softmax.top == nothing ? 0.0f : exp2f(softmax.top - top);
    softmax.total = fmaf(softmax.total, share, quad_sum(total));
    softmax.top = top;
    return share;
}

// Loads dimensions [first, first + tile_dims) of the values of the 64 ranks from first_rank on to tile.keys; zero
// for ranks before first_seen, and beyond the last rank or dimension.
template<DType pool, DType staged>
__device__ inline void load_values(const Forward& forward, const KvList& list, int64_t head, int64_t first_seen,
                                   int64_t first_rank, int32_t first, AttentionTile& tile)
{
    const AttendArgs& args = forward.args;
    const int64_t used = args.lists.used[head], ranks = used + args.rows;
    for (int x = static_cast<int>(threadIdx.x); x < tile_ranks * tile_dims; x += tile_threads) {
        const int64_t rank = first_rank + x / tile_dims;
        const int32_t d = first + x % tile_dims;
        float value = 0;
        if (rank >= first_seen && rank < ranks && d < list.dim) {
            const int64_t row = head * args.staging.capacity + rank - used;
            value = rank < used ? load<pool>(list.value<pool>(rank), d)
                                : load<staged>(staged_row<staged>(args.staging.values, row, list.dim), d);
        }
        tile.keys[x / tile_dims][x % tile_dims] = value;
    }
}

// sums[row] = sums[row] * shares[row] + weights x values. A warp handles eight rows, a lane one dimension.
template<DType pool, DType staged>
__device__ inline void weigh_values(const Forward& forward, const KvList& list, int64_t head, int64_t first_seen,
                                    int64_t first_rank, AttentionTile& tile, const float* shares,
                                    float* const* sums, bool begins)
{
    constexpr int each = tile_rows / (tile_threads / warp_lanes);
    const int first_row = static_cast<int>(threadIdx.x) / warp_lanes * each;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int32_t dim = forward.args.shape.head_dim;
    for (int32_t first = 0; first < dim; first += tile_dims) {
        __syncthreads();
        load_values<pool, staged>(forward, list, head, first_seen, first_rank, first, tile);
        __syncthreads();
        float added[each] = {};
#pragma unroll 8
        for (int i = 0; i < tile_ranks; ++i) {
            const float value = tile.keys[i][lane];
#pragma unroll
            for (int row = 0; row < each; ++row)
                added[row] = fmaf(tile.scores[first_row + row][i], value, added[row]);
        }
#pragma unroll
        for (int row = 0; row < each; ++row) {
            float* sum = sums[first_row + row];
            if (!sum || first + lane >= dim) continue;
            sum[first + lane] = begins ? added[row] : fmaf(sum[first + lane], shares[first_row + row], added[row]);
        }
    }
}

__device__ inline float* out_row(const Forward& forward, int64_t head, int64_t x)
{
    const HeadShape& shape = forward.args.shape;
    const int64_t group = forward.rotated.group;
    return forward.args.out + (x / group * shape.query_heads + head * group + x % group) * shape.head_dim;
}

// A block handles 32 stacked rows of one KV head.
template<DType pool, DType staged>
__global__ void __launch_bounds__(tile_threads) attend_tile(Forward forward)
{
    __shared__ AttentionTile tile;
    __shared__ float shares[tile_rows], denominators[tile_rows];
    __shared__ float* sums[tile_rows]; // null: no such row
    const RotatedRows& rotated = forward.rotated;
    const int32_t dim = rotated.dim;
    const int64_t head = blockIdx.y, first_row = static_cast<int64_t>(blockIdx.x) * tile_rows;
    const int64_t stacked = int64_t{rotated.rows} * rotated.group;
    const KvList list = list_of(forward.args.pool, forward.args.lists, head, dim);
    const auto self = static_cast<int>(threadIdx.x), row = self / 4;
    const int64_t x = first_row + row, last = first_row + tile_rows < stacked ? first_row + tile_rows : stacked;
    if (self < tile_rows) {
        float* in_shared = dynamic_shared<float>() + self * dim;
        float* out = dim <= most_shared_dim ? in_shared : out_row(forward, head, first_row + self);
        sums[self] = first_row + self < stacked ? out : nullptr;
    }
    RunningSoftmax softmax;
    const int32_t visible = visible_ranks(rotated, head, x), most = visible_ranks(rotated, head, last - 1);
    const int32_t hidden = rotated.first_rank(visible), first_seen = first_visible(rotated, head, first_row);
    const int32_t begin = first_tile(rotated, head, first_row);
    for (int32_t first_rank = begin; first_rank < most; first_rank += tile_ranks) {
        tile_scores<DType::F32>(rotated, head, first_row, first_rank, tile);
        const float share = add_to_softmax(tile, row, self % 4, hidden - first_rank, visible - first_rank, softmax);
        if (self % 4 == 0) shares[row] = share;
        weigh_values<pool, staged>(forward, list, head, first_seen, first_rank, tile, shares, sums,
                                   first_rank == begin);
    }
    if (self % 4 == 0) {
        denominators[row] = softmax.total;
        if (x < stacked) forward.lse[head * rotated.query_stride + x] = softmax.top + log2f(softmax.total);
    }
    __syncthreads();
    for (int64_t i = self; i < (last - first_row) * dim; i += tile_threads)
        out_row(forward, head, first_row + i / dim)[i % dim] = sums[i / dim][i % dim] / denominators[i / dim];
}

void attend_on_plain_cores(const Forward& forward, CudaContext& context)
{
    const RotatedRows& rotated = forward.rotated;
    const int64_t tiles = (int64_t{rotated.rows} * rotated.group + tile_rows - 1) / tile_rows;
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(forward.args.shape.kv_heads));
    const size_t shared =
        rotated.dim <= most_shared_dim ? sizeof(float) * tile_rows * static_cast<size_t>(rotated.dim) : 0;
    with_types(forward.args.pool.type, forward.args.staging.type, [&](auto pool, auto staged) {
        launch(context, {grid, dim3(tile_threads), shared},
               attend_tile<decltype(pool)::value, decltype(staged)::value>, forward);
    });
}

} // namespace

void attend(const AttendArgs& args, CudaContext& context)
{
    if (args.rows == 0) return;
    const bool tensor_cores = suits_tensor_cores(args, context);
    Forward forward{.args = args,
                    .rotated = rotate_rows(args, tensor_cores ? args.staging.type : DType::F32, context)};
    forward.args.lists.used = forward.rotated.used;
    forward.lse = context.scratch<float>(ScratchUse::Scores,
                                         static_cast<size_t>(args.shape.kv_heads * forward.rotated.query_stride));
    if (tensor_cores)
        attend_on_tensor_cores(forward, context);
    else
        attend_on_plain_cores(forward, context);
    if (wants_signals(args.signals)) prefill_signals(args, forward.rotated, forward.lse, context);
    write_key_norms(args.shape, args.qkv, args.rows, {.exact = forward.rotated.used, .most = args.lists.used},
                    args.signals, context);
    write_key_similarities({.shape = args.shape,
                            .pool = args.pool,
                            .lists = forward.args.lists,
                            .staging = args.staging,
                            .staged = args.rows},
                           args.signals, context);
}

} // namespace palimpsest::kernels::cuda
