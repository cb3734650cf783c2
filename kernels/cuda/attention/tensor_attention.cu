// The forward pass of prefill attention on tensor cores. A block handles 128 stacked rows of a KV head, a warp 32
// of them in two bands of 16. The block iterates over the keys in tiles of 64 with an online softmax, while the
// next tile is copied. A fragment of keys or values is read from shared memory once for both bands, since one band
// could keep the tensor cores only half busy. If there are too few such blocks for the card, a warp has one band
// and a block 64 rows; the bits of a row are the same. Logits and output sums stay in registers, and so do queries
// if there is room. The logits of a tile become, in the same registers, the weights that the values are multiplied
// by.
#include "kernels/cuda/attention/kv_list.h"
#include "kernels/cuda/attention/prefill_forward.h"
#include "kernels/cuda/device/mma.h"
#include "kernels/cuda/linear/soft_cap.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 128;
constexpr int block_ranks = 64;
template<int bands>
constexpr int warp_rows = bands* mma_m;
template<int bands>
constexpr int block_rows = threads / warp_lanes* warp_rows<bands>;
constexpr int stages = 2;
constexpr int vector = 8; // elements in 16 bytes
constexpr float nothing = -__builtin_huge_valf();
static_assert(block_ranks == page_rows && row_padding % block_ranks == 0);

// One of the two buffers of the pipeline: a tile of keys and values.
template<int dim>
struct TileBuffer {
    uint16_t keys[block_ranks * dim];
    uint16_t values[block_ranks * dim];
};

// Index of the vector at `column` of a row. Swizzled: the same column of eight consecutive rows is in different
// banks.
template<int dim>
__device__ inline int place(int row, int column)
{
    return row * dim + (column / vector ^ (row & 7)) * vector;
}

// A band of 16 rows. Lane l holds parts of rows l / 4 and l / 4 + 8: two of every eight columns.
template<int dim>
struct Band {
    float scores[block_ranks / mma_n][4]; // logits, then weights
    float sums[dim / mma_n][4];
    float row_maxima[2] = {nothing, nothing}, denominators[2] = {};
    int32_t hidden[2], visible[2]; // ranks [hidden, visible) are attended to
};

template<int dim>
using Queries = uint32_t[dim / mma_k][4]; // fragments of one band

// True if the queries fit in registers, besides sums and logits.
template<int dim, int bands>
constexpr bool holds_queries = dim <= 128 / bands;

template<DType from, DType to>
__device__ inline void widen_vector(const KvRow& row, int column, uint16_t* wide)
{
    float x[vector];
    load_vector<from>(row, column, x);
    *reinterpret_cast<Bytes16*>(wide) = {
        {pack<to>(x[0], x[1]), pack<to>(x[2], x[3]), pack<to>(x[4], x[5]), pack<to>(x[6], x[7])}};
}

// Copies a tile of keys and values to shared memory. Values of a quantised pool are widened on the way.
template<DType pool, DType type, int dim>
__device__ inline void copy_tile(const Forward& forward, const KvList& list, int64_t head, int64_t used,
                                 int64_t first_seen, int64_t first_rank, TileBuffer<dim>& buffer)
{
    constexpr int vectors = dim / vector;
    // Quantised values: unrolls the whole loop, so that all loads are in flight before one is widened.
    [[maybe_unused]] constexpr int at_once = pool == DType::Q8_0 ? block_ranks * vectors / threads : 1;
    const AttendArgs& args = forward.args;
    const auto* keys =
        static_cast<const uint16_t*>(forward.rotated.keys) + (head * forward.rotated.key_stride + first_rank) * dim;
    const int64_t first_place = first_rank < used ? list.place(first_rank) : 0; // a tile is exactly one page
#pragma unroll at_once
    for (int x = static_cast<int>(threadIdx.x); x < block_ranks * vectors; x += threads) {
        const int row = x / vectors, column = x % vectors * vector, to = place<dim>(row, column);
        const int64_t rank = first_rank + row;
        copy16(buffer.keys + to, keys + row * dim + column);
        const bool exists = rank >= first_seen && rank < used + args.rows;
        KvRow value{args.staging.values}; // any readable address, for copy16_or_zero
        if (exists && rank < used)
            value = pool_row<pool>(args.pool.values, first_place + row, dim);
        else if (exists)
            value = staged_row<type>(args.staging.values, head * args.staging.capacity + rank - used, dim);
        if (pool == DType::Q8_0 && exists && rank < used)
            widen_vector<pool, type>(value, column, buffer.values + to);
        else
            copy16_or_zero(buffer.values + to, value.elements + column * 2, exists);
    }
    commit();
}

// Loads the fragments of a band, laid out as A in mma.h. For rows beyond the stride, it loads the last row; their
// results are not saved.
template<int dim>
__device__ inline void load_queries(const Forward& forward, int64_t head, int64_t first_row, Queries<dim>& band)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const auto* queries = static_cast<const uint16_t*>(forward.rotated.queries) + lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int64_t row = min(first_row + lane / 4 + 8 * half, forward.rotated.query_stride - 1);
        const uint16_t* own = queries + (head * forward.rotated.query_stride + row) * dim;
#pragma unroll
        for (int k = 0; k < dim / mma_k; ++k)
#pragma unroll
            for (int i = 0; i < 2; ++i)
                band[k][2 * i + half] = *reinterpret_cast<const uint32_t*>(own + k * mma_k + i * 8);
    }
}

// Copies the block's queries to shared memory. Does not commit(): the copies complete with those of the first tile.
template<int dim, int bands>
__device__ inline void copy_queries(const Forward& forward, int64_t head, int64_t first_row, uint16_t* to)
{
    constexpr int vectors = dim / vector;
    const auto* queries = static_cast<const uint16_t*>(forward.rotated.queries);
    for (int x = static_cast<int>(threadIdx.x); x < block_rows<bands> * vectors; x += threads) {
        const int row = x / vectors, column = x % vectors * vector;
        const int64_t from = min(first_row + row, forward.rotated.query_stride - 1);
        copy16(to + place<dim>(row, column), queries + (head * forward.rotated.query_stride + from) * dim + column);
    }
}

// Reads a fragment of queries from shared memory: the 16 columns from `column` on, of the band that begins at
// `row`.
template<int dim>
__device__ inline void read_queries(const uint16_t* queries, int row, int column, uint32_t (&fragment)[4])
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    load_matrices(fragment, queries + place<dim>(row + lane % 16, column + lane / 16 * 8));
}

// Computes the logits of a tile. `held`: queries in registers, if holds_queries; else they are in `shared`.
template<DType type, int dim, int bands>
__device__ inline void multiply_keys(const uint16_t* keys, const Queries<dim>* held, const uint16_t* shared,
                                     Band<dim> (&rows)[bands])
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int warp_row = static_cast<int>(threadIdx.x) / warp_lanes * warp_rows<bands>;
#pragma unroll
    for (int band = 0; band < bands; ++band)
#pragma unroll
        for (int n = 0; n < block_ranks / mma_n; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                rows[band].scores[n][i] = 0;
#pragma unroll(holds_queries <dim, bands> ? dim / mma_k : 1)
    for (int k = 0; k < dim / mma_k; ++k) {
        uint32_t queries[bands][4];
#pragma unroll
        for (int band = 0; band < bands; ++band) {
            if constexpr (holds_queries<dim, bands>) {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    queries[band][i] = held[band][k][i];
            } else {
                read_queries<dim>(shared, warp_row + band * mma_m, k * mma_k, queries[band]);
            }
        }
#pragma unroll
        for (int n = 0; n < block_ranks / mma_n; n += 2) {
            const int key = n * mma_n + lane / 16 * 8 + lane % 8, column = k * mma_k + lane / 8 % 2 * 8;
            uint32_t matrices[4];
            load_matrices(matrices, keys + place<dim>(key, column));
            const uint32_t first[2] = {matrices[0], matrices[1]}, second[2] = {matrices[2], matrices[3]};
#pragma unroll
            for (int band = 0; band < bands; ++band) {
                add_product<type>(rows[band].scores[n], queries[band], first);
                add_product<type>(rows[band].scores[n + 1], queries[band], second);
            }
        }
    }
}

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

// Replaces the logits of one of the lane's two rows (`half`) by exp2(logit - row maximum), or by zero for ranks
// that the row does not attend to, and rescales the sums of earlier tiles.
template<bool masks_or_caps, int dim>
__device__ inline void add_to_softmax(int32_t first_rank, int half, float soft_cap, Band<dim>& band)
{
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;
    const int32_t attended = band.visible[half] - first_rank, hidden = band.hidden[half] - first_rank;
    float top = nothing;
#pragma unroll
    for (int n = 0; n < block_ranks / mma_n; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float& score = band.scores[n][2 * half + i];
            if (masks_or_caps) score = softly_capped(soft_cap, score);
            if (n * mma_n + column + i >= attended) score = nothing;
            if (masks_or_caps && n * mma_n + column + i < hidden) score = nothing;
            top = fmaxf(top, score);
        }
    top = fmaxf(band.row_maxima[half], quad_max(top));
    // If no rank so far is in the row's window, the row maximum is -inf: 0 avoids inf - inf.
    const float shift = masks_or_caps && top == nothing ? 0.0f : top;
    const float rescale = band.row_maxima[half] == nothing ? 0.0f : exp2f(band.row_maxima[half] - top);
    float total = 0;
#pragma unroll
    for (int n = 0; n < block_ranks / mma_n; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float& score = band.scores[n][2 * half + i];
            score = exp2f(score - shift);
            total += score;
        }
    band.denominators[half] = fmaf(band.denominators[half], rescale, quad_sum(total));
    band.row_maxima[half] = top;
#pragma unroll
    for (int n = 0; n < dim / mma_n; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i)
            band.sums[n][2 * half + i] *= rescale;
}

template<DType type, int dim, int bands>
__device__ inline void multiply_values(const uint16_t* values, Band<dim> (&rows)[bands])
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
#pragma unroll
    for (int k = 0; k < block_ranks / mma_k; ++k) {
        uint32_t weights[bands][4];
#pragma unroll
        for (int band = 0; band < bands; ++band)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float(&scores)[4] = rows[band].scores[2 * k + i / 2];
                weights[band][i] = pack<type>(scores[i % 2 * 2], scores[i % 2 * 2 + 1]);
            }
#pragma unroll
        for (int n = 0; n < dim / mma_n; n += 2) {
            const int rank = k * mma_k + lane / 8 % 2 * 8 + lane % 8, column = n * mma_n + lane / 16 * 8;
            uint32_t matrices[4];
            load_transposed_matrices(matrices, values + place<dim>(rank, column));
            const uint32_t first[2] = {matrices[0], matrices[1]}, second[2] = {matrices[2], matrices[3]};
#pragma unroll
            for (int band = 0; band < bands; ++band) {
                add_product<type>(rows[band].sums[n], weights[band], first);
                add_product<type>(rows[band].sums[n + 1], weights[band], second);
            }
        }
    }
}

// Saves one of the lane's two rows of a band (`half`), which is stacked row `x`.
template<int dim>
__device__ inline void save_row(const Forward& forward, int64_t head, int64_t x, int half, const Band<dim>& band)
{
    const int64_t group = forward.rotated.group;
    if (x >= forward.rotated.rows * group) return;
    const int lane = static_cast<int>(threadIdx.x) % 4;
    float* out =
        forward.args.out + (x / group * forward.args.shape.query_heads + head * group + x % group) * dim + lane * 2;
    const float inverse = 1.0f / band.denominators[half];
#pragma unroll
    for (int n = 0; n < dim / mma_n; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i)
            out[n * mma_n + i] = band.sums[n][2 * half + i] * inverse;
    if (lane == 0)
        forward.lse[head * forward.rotated.query_stride + x] =
            band.row_maxima[half] + log2f(band.denominators[half]);
}

// Initialises a band whose first row of this lane is `first`.
template<int dim>
__device__ inline void clear_band(const RotatedRows& rotated, int32_t used, int64_t first, Band<dim>& band)
{
#pragma unroll
    for (int n = 0; n < dim / mma_n; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            band.sums[n][i] = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        band.visible[half] = used + static_cast<int32_t>((first + 8 * half) / rotated.group) + 1;
        band.hidden[half] = rotated.first_rank(band.visible[half]);
    }
}

template<int dim, int bands>
constexpr size_t shared_bytes = stages * sizeof(TileBuffer<dim>) +
                                (holds_queries<dim, bands> ? 0 : block_rows<bands> * dim * sizeof(uint16_t));

template<DType pool, DType type, int dim, bool masks_or_caps, int bands>
__global__ void __launch_bounds__(threads) attend_rows(Forward forward)
{
    auto* pipeline = dynamic_shared<TileBuffer<dim>>();
    auto* shared_queries = reinterpret_cast<uint16_t*>(pipeline + stages);
    const RotatedRows& rotated = forward.rotated;
    const int64_t head = blockIdx.y, block_first = static_cast<int64_t>(blockIdx.x) * block_rows<bands>;
    const int64_t stacked = int64_t{rotated.rows} * rotated.group;
    const int32_t used = rotated.used[head];
    const auto lane = static_cast<int>(threadIdx.x) % warp_lanes, warp = static_cast<int>(threadIdx.x) / warp_lanes;
    const int64_t first_row = block_first + warp * warp_rows<bands>, own = first_row + lane / 4;
    const KvList list = list_of(forward.args.pool, forward.args.lists, head, dim);
    const auto visible = [&](int64_t x) { return used + static_cast<int32_t>(x / rotated.group) + 1; };
    const int64_t last = block_first + block_rows<bands> < stacked ? block_first + block_rows<bands> : stacked;
    const int32_t most = visible(last - 1);

    Band<dim> rows[bands];
    [[maybe_unused]] Queries<dim> queries[holds_queries<dim, bands> ? bands : 1];
#pragma unroll
    for (int band = 0; band < bands; ++band) {
        clear_band<dim>(rotated, used, own + band * mma_m, rows[band]);
        if constexpr (holds_queries<dim, bands>)
            load_queries<dim>(forward, head, first_row + band * mma_m, queries[band]);
    }
    if constexpr (!holds_queries<dim, bands>) copy_queries<dim, bands>(forward, head, block_first, shared_queries);
    const int32_t first_seen = masks_or_caps ? rotated.first_rank(visible(block_first)) : 0;
    const int32_t first_tile = first_seen / block_ranks;

    copy_tile<pool, type, dim>(forward, list, head, used, first_seen, first_tile * block_ranks,
                               pipeline[first_tile % stages]);
    for (int32_t tile = first_tile; tile * block_ranks < most; ++tile) {
        const int32_t first_rank = tile * block_ranks, next = first_rank + block_ranks;
        if (next < most) {
            copy_tile<pool, type, dim>(forward, list, head, used, first_seen, next, pipeline[(tile + 1) % stages]);
            wait<1>();
        } else {
            wait<0>();
        }
        __syncthreads();
        const TileBuffer<dim>& buffer = pipeline[tile % stages];
        multiply_keys<type, dim, bands>(buffer.keys, queries, shared_queries, rows);
#pragma unroll
        for (int row = 0; row < 2 * bands; ++row)
            add_to_softmax<masks_or_caps, dim>(first_rank, row % 2, rotated.soft_cap, rows[row / 2]);
        multiply_values<type, dim, bands>(buffer.values, rows);
        __syncthreads();
    }
#pragma unroll
    for (int row = 0; row < 2 * bands; ++row)
        save_row<dim>(forward, head, own + 8 * row, row % 2, rows[row / 2]);
}

template<int bands>
int64_t blocks_of(const Forward& forward)
{
    return (int64_t{forward.rotated.rows} * forward.rotated.group + block_rows<bands> - 1) / block_rows<bands>;
}

template<DType pool, DType type, int dim, int bands>
void launch_bands(const Forward& forward, CudaContext& context)
{
    const dim3 grid(static_cast<unsigned>(blocks_of<bands>(forward)),
                    static_cast<unsigned>(forward.args.shape.kv_heads));
    const Launch shape{grid, dim3(threads), shared_bytes<dim, bands>};
    if (forward.rotated.masks_or_caps())
        launch(context, shape, attend_rows<pool, type, dim, true, bands>, forward);
    else
        launch(context, shape, attend_rows<pool, type, dim, false, bands>, forward);
}

// Uses two bands if enough blocks remain and shared memory suffices. Heads of 64 need 3/4 of a block per
// multiprocessor. Heads of 128 need 3/2, because one block's four warps do not keep a multiprocessor busy. On an
// H100, 512 rows after 2048 take 1.5 times as long with two bands as with one if heads are 128 wide, and 0.9 times
// as long if they are 64.
template<DType pool, DType type, int dim>
void launch_rows(const Forward& forward, CudaContext& context)
{
    const int64_t blocks = blocks_of<2>(forward) * forward.args.shape.kv_heads;
    constexpr int64_t least_quarters = dim == 64 ? 3 : 6; // of a block per multiprocessor
    if (4 * blocks >= least_quarters * context.multiprocessors() && shared_bytes<dim, 2> <= context.most_shared())
        launch_bands<pool, type, dim, 2>(forward, context);
    else
        launch_bands<pool, type, dim, 1>(forward, context);
}

template<DType pool, DType type>
void launch_for_dim(const Forward& forward, CudaContext& context)
{
    if (forward.rotated.dim == 64) return launch_rows<pool, type, 64>(forward, context);
    launch_rows<pool, type, 128>(forward, context);
}

template<DType type>
void launch_for_pool(const Forward& forward, CudaContext& context)
{
    if (forward.args.pool.type == DType::Q8_0) return launch_for_dim<DType::Q8_0, type>(forward, context);
    launch_for_dim<type, type>(forward, context);
}

} // namespace

bool suits_tensor_cores(const AttendArgs& args, const CudaContext& context)
{
    constexpr int with_f16 = 75, with_bf16 = 80;
    if (args.shape.head_dim != 64 && args.shape.head_dim != 128) return false;
    if (args.staging.type == DType::F32) return false;
    return context.compute_capability() >= (args.staging.type == DType::F16 ? with_f16 : with_bf16);
}

void attend_on_tensor_cores(const Forward& forward, CudaContext& context)
{
    if (forward.rotated.type == DType::F16) return launch_for_pool<DType::F16>(forward, context);
    launch_for_pool<DType::BF16>(forward, context);
}

} // namespace palimpsest::kernels::cuda
