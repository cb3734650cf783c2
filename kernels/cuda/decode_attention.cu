// Attention of one token over lists that are read where they lie (performance.md, 5.2).
//
// A block takes 128 of the ranks that one KV head reads, for its whole group of query heads; the last block of a
// head to finish puts the splits together, in their order. Logits are in units of log 2. Contiguous keys get their
// rotation in two levels, R(p) = R(16u) R(v): every 16 ranks the queries are turned to their distance from the
// first of them, and a key only by what it lies behind that one, so that the key side of the table stays in L1.
#include <algorithm>

#include "kernels/cuda/decode_signals.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_list.h"
#include "kernels/cuda/page_retrieval.h"
#include "kernels/cuda/quantise.h"
#include "kernels/cuda/rotate.h"
#include "kernels/cuda/soft_cap.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 128;
constexpr int warps = threads / warp_lanes;
constexpr int turn_ranks = 16;
constexpr float log2_e = 1.44269504f;

// Where every head reads another part of the ranks, weights are settled between a pass over keys and one over
// values.
enum class DecodePass : uint8_t { Both, Keys, Values };

struct DecodeWork {
    DecodeAttendArgs args; // lists.used: device memory
    DecodePass pass = DecodePass::Both;
    int32_t group = 1;
    float scale = 1;    // of the logits, in units of log 2
    float soft_cap = 0; // likewise; 0: none
    ReadPlan plan;
    ReadRanks read{};
    float* weights = nullptr; // [query_heads, weight_stride], by what is read; null: not wanted
    int64_t weight_stride = 0;
    int32_t splits = 0;          // of the longest list, at most
    float* tops = nullptr;       // [kv_heads, splits, group]
    float* totals = nullptr;     // the same; in the end what weights are multiplied with
    float* outs = nullptr;       // [kv_heads, splits, group, head_dim]
    uint32_t* tickets = nullptr; // [kv_heads]: splits that are done; 0 between calls
};

// A block's share of the work.
struct Split {
    int32_t head = 0, index = 0, used = 0;
    int32_t first = 0, count = 0; // of what is read
    int32_t first_seen = 0;       // rank, of a list that is read whole
    int32_t of = 0;               // splits of the list
    int64_t part = 0;             // index of its first head in tops and totals

    __device__ bool last() const { return index == of - 1; }
};

template<int heads>
struct SplitMemory {
    float weights[heads][split_ranks]; // logits first
    int64_t places[split_ranks];       // of rows in the pool
    int32_t ranks[split_ranks];
};

__device__ inline Split split_of(const DecodeWork& work)
{
    Split split;
    split.head = static_cast<int32_t>(blockIdx.y);
    split.index = static_cast<int32_t>(blockIdx.x);
    split.used = work.args.lists.used[split.head];
    const int32_t reads = work.plan.count(split.used);
    split.of = (reads + split_ranks - 1) / split_ranks;
    split.first = split.index * split_ranks;
    split.first_seen = work.plan.first(split.used);
    split.count = reads - split.first < split_ranks ? reads - split.first : split_ranks;
    split.part = (static_cast<int64_t>(split.head) * work.splits + split.index) * work.group;
    return split;
}

// The new token's key and value, which the split of the newest ranks is the only one to read.
template<DType type>
__device__ inline void store_token(const DecodeWork& work, const Split& split, const KvList& list)
{
    const DecodeAttendArgs& args = work.args;
    const int32_t dim = args.shape.head_dim;
    const int64_t row = list.order[split.used];
    const float* key = args.qkv + (static_cast<int64_t>(args.shape.query_heads) + split.head) * dim;
    const float* value = key + static_cast<int64_t>(args.shape.kv_heads) * dim;
    const auto element = [&](int32_t i) { return key[i]; };
    const KvRow key_row = list.key<type>(row), value_row = list.value<type>(row);
    for (auto i = static_cast<int32_t>(threadIdx.x); i < dim; i += threads) {
        store_element<type>(key_row, i,
                            args.rotation.keys_rotated ? turned(args.rotation.table, 0, i, element) : element(i));
        store_element<type>(value_row, i, value[i]);
    }
}

template<int heads>
__device__ inline void locate_rows(const DecodeWork& work, const Split& split, const KvList& list,
                                   SplitMemory<heads>& memory)
{
    const bool whole = work.plan.whole(split.used);
    for (auto i = static_cast<int32_t>(threadIdx.x); i < split.count; i += threads) {
        const int32_t at = split.first + i;
        const auto rank = whole ? split.first_seen + at
                                : static_cast<int32_t>(work.read.ranks[split.head * work.read.stride + at]);
        memory.ranks[i] = rank;
        memory.places[i] = list.place(list.order[rank]);
    }
}

// Queries [first, first + heads) of the group turned to `position` and scaled, to [heads, head_dim]; zero beyond
// the group. By `workers` threads, of which this is `self`.
template<int heads>
__device__ inline void turn_queries(const DecodeWork& work, const Split& split, int32_t first, int64_t position,
                                    int self, int workers, float* to)
{
    const RopeTable& table = work.args.rotation.table;
    const int32_t dim = work.args.shape.head_dim, half = table.rotary_dim / 2, units = dim - half;
    const float* cosines = table.cos_sin + position * table.rotary_dim;
    const float* queries = work.args.qkv + (static_cast<int64_t>(split.head) * work.group + first) * dim;
    for (int32_t x = self; x < heads * units; x += workers) {
        const int32_t g = x / units, i = x % units;
        const bool is_head = first + g < work.group;
        const float* query = queries + g * dim;
        float* turned_query = to + g * dim;
        if (i >= half) {
            turned_query[i + half] = is_head ? query[i + half] * work.scale : 0.0f;
            continue;
        }
        const float a = is_head ? query[i] * work.scale : 0.0f, b = is_head ? query[i + half] * work.scale : 0.0f;
        const float cosine = cosines[i], sine = cosines[half + i];
        turned_query[i] = fmaf(-b, sine, a * cosine);
        turned_query[i + half] = fmaf(a, sine, b * cosine);
    }
}

// A warp's logits of ranks [first, first + 16) of the split: a lane takes one vector of either half of a key, so
// that it holds whole rotary pairs.
template<DType type, int dim, int heads>
__device__ inline void logits_of_turn(const DecodeWork& work, const Split& split, int32_t first,
                                      const float* queries, SplitMemory<heads>& memory)
{
    constexpr int each = vector_elements<type>, lanes = dim / 2 / each, rows = warp_lanes / lanes;
    constexpr int steps = turn_ranks / rows;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes, column = lane % lanes * each;
    float left[steps][each], right[steps][each];
    int32_t at[steps];
#pragma unroll
    for (int step = 0; step < steps; ++step) {
        const int32_t rank = first + step * rows + lane / lanes;
        at[step] = rank < split.count ? rank : split.count - 1;
        const KvRow key = pool_row<type>(work.args.pool.keys, memory.places[at[step]], dim);
        load_vector<type>(key, column, left[step]);
        load_vector<type>(key, dim / 2 + column, right[step]);
    }
    if (!work.args.rotation.keys_rotated) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            const float* cosines =
                work.args.rotation.table.cos_sin + (memory.ranks[at[step]] - memory.ranks[first]) * int64_t{dim};
#pragma unroll
            for (int i = 0; i < each; ++i) {
                const float cosine = cosines[column + i], sine = cosines[dim / 2 + column + i];
                const float a = left[step][i], b = right[step][i];
                left[step][i] = fmaf(-b, sine, a * cosine);
                right[step][i] = fmaf(a, sine, b * cosine);
            }
        }
    }
#pragma unroll 1
    for (int g = 0; g < heads; ++g) {
        float query_left[each], query_right[each];
#pragma unroll
        for (int i = 0; i < each; i += 4) {
            load_vector<DType::F32>(queries + g * dim, column + i, query_left + i);
            load_vector<DType::F32>(queries + g * dim, dim / 2 + column + i, query_right + i);
        }
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < each; ++i)
                sum = fmaf(query_right[i], right[step][i], fmaf(query_left[i], left[step][i], sum));
#pragma unroll
            for (int reach = lanes / 2; reach > 0; reach /= 2)
                sum += __shfl_xor_sync(all_lanes, sum, reach);
            const int32_t rank = first + step * rows + lane / lanes;
            if (lane % lanes == 0 && rank < split.count) memory.weights[g][rank] = sum;
        }
    }
}

// `queries`: [warps, heads, dim].
template<DType type, int dim, int heads>
__device__ inline void fast_logits(const DecodeWork& work, const Split& split, int32_t first_head, float* queries,
                                   SplitMemory<heads>& memory)
{
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = static_cast<int>(threadIdx.x) % warp_lanes;
    float* own = queries + warp * heads * dim;
    const bool keys_rotated = work.args.rotation.keys_rotated;
    if (keys_rotated) turn_queries<heads>(work, split, first_head, 0, lane, warp_lanes, own);
    __syncwarp();
    for (int32_t first = warp * turn_ranks; first < split.count; first += warps * turn_ranks) {
        if (!keys_rotated)
            turn_queries<heads>(work, split, first_head, split.used - memory.ranks[first], lane, warp_lanes, own);
        __syncwarp();
        logits_of_turn<type, dim, heads>(work, split, first, own, memory);
        __syncwarp();
    }
}

// Any head_dim and part that is turned: a warp per rank. `queries`: [heads, head_dim].
template<DType type, int heads>
__device__ inline void plain_logits(const DecodeWork& work, const Split& split, int32_t first_head, float* queries,
                                    SplitMemory<heads>& memory)
{
    const auto self = static_cast<int>(threadIdx.x), warp = self / warp_lanes, lane = self % warp_lanes;
    const Rotation& rotation = work.args.rotation;
    const int32_t dim = work.args.shape.head_dim;
    const int32_t origin = split.first_seen; // of positions
    turn_queries<heads>(work, split, first_head, rotation.keys_rotated ? 0 : split.used - origin, self, threads,
                        queries);
    __syncthreads();
    for (int32_t i = warp; i < split.count; i += warps) {
        const KvRow key = pool_row<type>(work.args.pool.keys, memory.places[i], dim);
        const auto element = [&](int32_t d) { return load<type>(key, d); };
        float sums[heads] = {};
        for (int32_t d = lane; d < dim; d += warp_lanes) {
            const float x =
                rotation.keys_rotated ? element(d) : turned(rotation.table, memory.ranks[i] - origin, d, element);
#pragma unroll
            for (int g = 0; g < heads; ++g)
                sums[g] = fmaf(queries[g * dim + d], x, sums[g]);
        }
#pragma unroll
        for (int g = 0; g < heads; ++g) {
            const float logit = warp_sum(sums[g]);
            if (lane == 0) memory.weights[g][i] = logit;
        }
    }
}

template<int heads>
__device__ inline void cap_logits(const DecodeWork& work, const Split& split, SplitMemory<heads>& memory)
{
    for (auto i = static_cast<int32_t>(threadIdx.x); i < heads * split.count; i += threads) {
        float& logit = memory.weights[i / split.count][i % split.count];
        logit = softly_capped(work.soft_cap, logit);
    }
    __syncthreads();
}

// Logits to exp2(logit - top), a warp per head.
template<int heads>
__device__ inline void exponentials(const DecodeWork& work, const Split& split, int32_t first_head,
                                    SplitMemory<heads>& memory)
{
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = static_cast<int>(threadIdx.x) % warp_lanes;
    for (int g = warp; g < heads && first_head + g < work.group; g += warps) {
        float top = memory.weights[g][0], total = 0;
        for (int32_t i = lane; i < split.count; i += warp_lanes)
            top = fmaxf(top, memory.weights[g][i]);
        top = warp_max(top);
        for (int32_t i = lane; i < split.count; i += warp_lanes) {
            const float weight = exp2f(memory.weights[g][i] - top);
            memory.weights[g][i] = weight;
            total += weight;
        }
        total = warp_sum(total);
        if (lane != 0) continue;
        work.tops[split.part + first_head + g] = top;
        work.totals[split.part + first_head + g] = total;
    }
}

__device__ inline float* weights_of(const DecodeWork& work, const Split& split, int32_t head_of_group)
{
    return work.weights + (static_cast<int64_t>(split.head) * work.group + head_of_group) * work.weight_stride +
           split.first;
}

template<int heads>
__device__ inline void save_weights(const DecodeWork& work, const Split& split, int32_t first_head,
                                    const SplitMemory<heads>& memory)
{
    const auto i = static_cast<int32_t>(threadIdx.x);
    for (int g = 0; g < heads && first_head + g < work.group; ++g)
        if (i < split.count) weights_of(work, split, first_head + g)[i] = memory.weights[g][i];
}

// Weights that were settled between the passes: a warp per head.
template<int heads>
__device__ inline void load_weights(const DecodeWork& work, const Split& split, int32_t first_head,
                                    SplitMemory<heads>& memory)
{
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = static_cast<int>(threadIdx.x) % warp_lanes;
    for (int g = warp; g < heads; g += warps) {
        const bool is_head = first_head + g < work.group;
        float total = 0;
        for (int32_t i = lane; i < split.count; i += warp_lanes) {
            const float weight = is_head ? weights_of(work, split, first_head + g)[i] : 0.0f;
            memory.weights[g][i] = weight;
            total += weight;
        }
        total = warp_sum(total);
        if (lane != 0 || !is_head) continue;
        work.tops[split.part + first_head + g] = 0;
        work.totals[split.part + first_head + g] = total;
    }
}

// Whether a head of the tile reads the row, which need not be numbers otherwise.
template<int heads>
__device__ inline bool anybody_reads(const SplitMemory<heads>& memory, int32_t i)
{
    bool reads = false;
#pragma unroll
    for (int g = 0; g < heads; ++g)
        reads |= memory.weights[g][i] != 0;
    return reads;
}

// sums[g] of the values, for one vector of columns a thread and every threads / vectors-per-row-th rank; `parts`:
// [warps, heads, dim].
template<DType type, int dim, int heads>
__device__ inline void fast_values(const DecodeWork& work, const Split& split, int32_t first_head, float* parts,
                                   const SplitMemory<heads>& memory)
{
    constexpr int each = vector_elements<type>, lanes = dim / each, stripes = threads / lanes;
    const auto self = static_cast<int>(threadIdx.x), warp = self / warp_lanes, lane = self % warp_lanes;
    const int column = self % lanes * each;
    float sums[heads][each] = {};
#pragma unroll 4
    for (int32_t i = self / lanes; i < split.count; i += stripes) {
        if (work.pass == DecodePass::Values && !anybody_reads(memory, i)) continue;
        float value[each];
        load_vector<type>(pool_row<type>(work.args.pool.values, memory.places[i], dim), column, value);
#pragma unroll
        for (int g = 0; g < heads; ++g) {
            const float weight = memory.weights[g][i];
#pragma unroll
            for (int j = 0; j < each; ++j)
                sums[g][j] = fmaf(weight, value[j], sums[g][j]);
        }
    }
#pragma unroll
    for (int g = 0; g < heads; ++g) {
#pragma unroll
        for (int j = 0; j < each; ++j) {
            float sum = sums[g][j];
#pragma unroll
            for (int reach = lanes; reach < warp_lanes; reach *= 2)
                sum += __shfl_xor_sync(all_lanes, sum, reach);
            if (lane < lanes) parts[(warp * heads + g) * dim + column + j] = sum;
        }
    }
    __syncthreads();
    for (int x = self; x < heads * dim; x += threads) {
        if (first_head + x / dim >= work.group) continue;
        float sum = parts[x];
#pragma unroll
        for (int w = 1; w < warps; ++w)
            sum += parts[w * heads * dim + x];
        work.outs[(split.part + first_head) * dim + x] = sum;
    }
}

template<DType type, int heads>
__device__ inline void plain_values(const DecodeWork& work, const Split& split, int32_t first_head,
                                    const SplitMemory<heads>& memory)
{
    const int32_t dim = work.args.shape.head_dim;
    for (auto d = static_cast<int32_t>(threadIdx.x); d < dim; d += threads) {
        float sums[heads] = {};
        for (int32_t i = 0; i < split.count; ++i) {
            if (work.pass == DecodePass::Values && !anybody_reads(memory, i)) continue;
            const float value = load<type>(pool_row<type>(work.args.pool.values, memory.places[i], dim), d);
#pragma unroll
            for (int g = 0; g < heads; ++g)
                sums[g] = fmaf(memory.weights[g][i], value, sums[g]);
        }
        for (int g = 0; g < heads && first_head + g < work.group; ++g)
            work.outs[(split.part + first_head + g) * dim + d] = sums[g];
    }
}

// Whether this block is the last of its head to get here; all that the others wrote before is seen then.
__device__ inline bool is_last_to_finish(const DecodeWork& work, const Split& split)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(work.tickets + split.head, 1u) == static_cast<uint32_t>(split.of - 1);
        if (last) work.tickets[split.head] = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

// Softmax parts are rescaled to their common top: totals become what a split's weights are multiplied with.
__device__ inline void settle_shares(const DecodeWork& work, const Split& split)
{
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int64_t first = static_cast<int64_t>(split.head) * work.splits * work.group;
    for (int32_t g = warp; g < work.group; g += warps) {
        const float* tops = work.tops + first + g;
        float* totals = work.totals + first + g;
        float top = tops[0], total = 0;
        for (int64_t i = lane; i < split.of; i += warp_lanes)
            top = fmaxf(top, tops[i * work.group]);
        top = warp_max(top);
        for (int64_t i = lane; i < split.of; i += warp_lanes)
            total += totals[i * work.group] * exp2f(tops[i * work.group] - top);
        total = warp_sum(total);
        for (int64_t i = lane; i < split.of; i += warp_lanes)
            totals[i * work.group] = exp2f(tops[i * work.group] - top) / total;
    }
}

__device__ inline void combine_splits(const DecodeWork& work, const Split& split)
{
    settle_shares(work, split);
    __syncthreads();
    const int32_t dim = work.args.shape.head_dim, width = work.group * dim;
    const int64_t first = static_cast<int64_t>(split.head) * work.splits;
    for (auto x = static_cast<int32_t>(threadIdx.x); x < width; x += threads) {
        const float* shares = work.totals + first * work.group + x / dim;
        const float* outs = work.outs + first * width + x;
        float sum = 0;
#pragma unroll 8
        for (int64_t i = 0; i < split.of; ++i)
            sum = fmaf(shares[i * work.group], outs[i * width], sum);
        work.args.out[static_cast<int64_t>(split.head) * width + x] = sum;
    }
}

// One tile of heads. `dim`: 0 for any.
template<DType type, int dim, int heads>
__device__ inline void attend_heads(const DecodeWork& work, const Split& split, int32_t first_head, float* rows,
                                    SplitMemory<heads>& memory)
{
    if (work.pass == DecodePass::Values) {
        load_weights<heads>(work, split, first_head, memory);
    } else {
        if constexpr (dim > 0)
            fast_logits<type, dim, heads>(work, split, first_head, rows, memory);
        else
            plain_logits<type, heads>(work, split, first_head, rows, memory);
        __syncthreads();
        if (work.soft_cap > 0) cap_logits<heads>(work, split, memory);
        if (work.pass == DecodePass::Both) exponentials<heads>(work, split, first_head, memory);
    }
    __syncthreads();
    if (work.weights && work.pass != DecodePass::Values) save_weights<heads>(work, split, first_head, memory);
    if (work.pass != DecodePass::Keys) {
        if constexpr (dim > 0)
            fast_values<type, dim, heads>(work, split, first_head, rows, memory);
        else
            plain_values<type, heads>(work, split, first_head, memory);
    }
    __syncthreads();
}

template<DType type, int dim, int heads>
__global__ void __launch_bounds__(threads) attend_split(DecodeWork work)
{
    __shared__ SplitMemory<heads> memory;
    auto* rows = dynamic_shared<float>();
    const Split split = split_of(work);
    if (split.index >= split.of) return;
    const KvList list = list_of(work.args.pool, work.args.lists, split.head, work.args.shape.head_dim);
    if (split.last() && work.pass != DecodePass::Values) store_token<type>(work, split, list);
    locate_rows<heads>(work, split, list, memory);
    __syncthreads();
    for (int32_t first_head = 0; first_head < work.group; first_head += heads)
        attend_heads<type, dim, heads>(work, split, first_head, rows, memory);
    if (work.pass == DecodePass::Keys) return;
    if (is_last_to_finish(work, split)) combine_splits(work, split);
}

template<DType type, int dim, int heads>
void launch_splits(const DecodeWork& work, CudaContext& context)
{
    const auto floats = static_cast<size_t>(dim > 0 ? warps * heads * dim : heads * work.args.shape.head_dim);
    const dim3 grid(static_cast<unsigned>(work.splits), static_cast<unsigned>(work.args.shape.kv_heads));
    launch(context, {grid, dim3(threads), floats * sizeof(float)}, attend_split<type, dim, heads>, work);
}

template<DType type, int dim>
void launch_for_group(const DecodeWork& work, CudaContext& context)
{
    if (work.group == 1) return launch_splits<type, dim, 1>(work, context);
    if (work.group <= 4) return launch_splits<type, dim, 4>(work, context);
    launch_splits<type, dim, 8>(work, context);
}

void attend_splits(const DecodeWork& work, CudaContext& context)
{
    const Rotation& rotation = work.args.rotation;
    const int32_t dim = work.args.shape.head_dim;
    const bool pairs_fit = rotation.keys_rotated || rotation.table.rotary_dim == dim;
    with_pool_type(work.args.pool.type, [&](auto type) {
        constexpr DType element = decltype(type)::value;
        if (dim == 64 && pairs_fit) return launch_for_group<element, 64>(work, context);
        if (dim == 128 && pairs_fit) return launch_for_group<element, 128>(work, context);
        launch_splits<element, 0, 4>(work, context);
    });
}

// One per KV head, zero between calls.
uint32_t* tickets(int32_t kv_heads, CudaContext& context)
{
    constexpr int32_t step = 1024;
    const uint64_t before = context.scratch_bytes();
    const auto count = static_cast<size_t>((kv_heads + step - 1) / step * step);
    auto* memory = context.scratch<uint32_t>(ScratchUse::Tickets, count);
    if (context.scratch_bytes() != before)
        check(cudaMemsetAsync(memory, 0, count * sizeof(uint32_t), context.stream()));
    return memory;
}

DecodeWork plan_work(const DecodeAttendArgs& args, CudaContext& context)
{
    const HeadShape& shape = args.shape;
    DecodeWork work{.args = args,
                    .group = shape.group(),
                    .scale = shape.scale * log2_e,
                    .soft_cap = shape.soft_cap * log2_e,
                    .plan = read_plan(args)};
    int32_t most = 0;
    for (int32_t head = 0; head < shape.kv_heads; ++head)
        most = std::max(most, work.plan.most_count(args.lists.used[head]));
    work.splits = (most + split_ranks - 1) / split_ranks;
    const size_t parts = static_cast<size_t>(shape.query_heads) * static_cast<size_t>(work.splits);
    work.tops = context.scratch<float>(ScratchUse::Partials, parts * static_cast<size_t>(shape.head_dim + 2));
    work.totals = work.tops + parts;
    work.outs = work.totals + parts;
    work.weight_stride = int64_t{work.splits} * split_ranks;
    if (wants_anything(args.signals) || (work.plan.retrieves && args.retrieval.top_p > 0))
        work.weights = context.scratch<float>(ScratchUse::Scores, parts * split_ranks);
    work.tickets = tickets(shape.kv_heads, context);
    work.args.lists.used = args.lists.resident_used;
    if (work.args.lists.used == nullptr)
        work.args.lists.used = context.send(std::span(args.lists.used, static_cast<size_t>(shape.kv_heads)));
    return work;
}

void attend_by_mass(DecodeWork& work, CudaContext& context)
{
    work.pass = DecodePass::Keys;
    attend_splits(work, context);
    keep_top_mass({.weights = work.weights,
                   .stride = work.weight_stride,
                   .used = work.args.lists.used,
                   .plan = work.plan,
                   .query_heads = work.args.shape.query_heads,
                   .group = work.group,
                   .share = work.args.retrieval.top_p},
                  context);
    work.pass = DecodePass::Values;
    attend_splits(work, context);
}

} // namespace

void decode_attend(const DecodeAttendArgs& args, CudaContext& context)
{
    DecodeWork work = plan_work(args, context);
    work.read = choose_ranks(args, work.args.lists.used, context);
    if (work.plan.retrieves && args.retrieval.top_p > 0)
        attend_by_mass(work, context);
    else
        attend_splits(work, context);
    if (!wants_anything(args.signals)) return;
    decode_signals(
        args, work.args.lists.used, work.read,
        {.weights = work.weights, .stride = work.weight_stride, .shares = work.totals, .splits = work.splits},
        context);
}

} // namespace palimpsest::kernels::cuda
