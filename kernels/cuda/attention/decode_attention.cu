// Attention of one token over lists that are read in place.
//
// A block handles a split: 64 of the ranks that one KV head reads, for its whole query group, so that the loads of
// all their keys and values are in flight at once. For the logits, each warp takes 16 of the ranks; for the sums of
// values, each thread takes a vector of columns of some of the ranks. 16 splits are a bundle: the last of its
// blocks to finish combines its splits, in their order, and the last block of a head combines the bundles. Logits
// are multiplied by log2(e), so that exp2 gives the weight. A logit depends only on the distance between query and
// key. Where keys are stored unrotated, the queries are therefore rotated, for every 16 ranks, by their distance
// from the first of the 16, and each key by its distance from that first one: keys need few rows of the RoPE table,
// which stay in L1.
#include <algorithm>

#include "kernels/cuda/attention/decode_signals.h"
#include "kernels/cuda/attention/key_norms.h"
#include "kernels/cuda/attention/key_similarities.h"
#include "kernels/cuda/attention/kv_list.h"
#include "kernels/cuda/attention/page_retrieval.h"
#include "kernels/cuda/attention/quantise.h"
#include "kernels/cuda/attention/rotate.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/linear/soft_cap.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 128;
constexpr int warps = threads / warp_lanes;
constexpr int rotate_ranks = 16;
static_assert(split_ranks == warps * rotate_ranks);
constexpr int32_t table_pages = 2 * threads; // page tables up to this length are copied to shared memory
constexpr float log2_e = 1.44269504f;

// Which part of attention a launch computes. With top_p there are two launches: one over keys computes the logits,
// keep_top_mass turns them into weights, and one over values sums those that have a weight.
enum class DecodePass : uint8_t { Both, Keys, Values };

// Partial softmax results to be combined: of splits, or of bundles of them.
struct Parts {
    float* outs = nullptr;         // [kv_heads, parts, group, head_dim] sums of values
    float* row_maxima = nullptr;   // [kv_heads, parts, group] largest logit of each query head
    float* denominators = nullptr; // likewise, softmax denominators; after combining, the factor of each part

    __host__ __device__ Parts from(int64_t part, int64_t group, int64_t dim) const
    {
        return {outs + part * group * dim, row_maxima + part * group, denominators + part * group};
    }
};

struct DecodeWork {
    DecodeAttendArgs args; // lists.used: device memory
    int32_t group = 1;
    float scale = 1;    // multiplies the logits; includes log2(e), so that exp2 gives the weight
    float soft_cap = 0; // includes log2(e), too; 0: none
    ReadPlan plan;
    ReadRanks read{};
    float* weights =
        nullptr; // [query_heads, weight_stride], column i: the i-th rank that is read; null: not stored
    int64_t weight_stride = 0;
    int32_t splits = 0, bundles = 0; // upper bounds over all lists
    Parts of_splits{}, of_bundles{}; // of_bundles is not used for lists of one bundle
    uint32_t* tickets =
        nullptr; // [kv_heads, bundles + 1] finished blocks: per bundle, then of the head; 0 between calls
};

// The split that a block handles.
struct Split {
    int32_t head = 0, index = 0, used = 0;
    int32_t first = 0, count = 0; // the split is this range of the ranks that are read
    int32_t first_seen = 0;       // first visible rank of a list that is read whole
    int32_t of = 0;               // number of splits of the list
    int64_t part = 0;             // index of its first query head in row_maxima and denominators

    __device__ bool last() const { return index == of - 1; }
};

template<int heads>
struct SplitMemory {
    float weights[heads][split_ranks]; // before the softmax: the logits
    int64_t places[split_ranks];       // pool rows of the keys and values
    int32_t ranks[split_ranks];
    uint32_t pages[table_pages];
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

// Table entries that are loaded at the same time as the list's length, because they do not depend on it.
struct Ahead {
    uint32_t row = 0; // order[rank] of the thread's rank, if knows_ranks
    uint32_t pages[table_pages / threads] = {};
};

__device__ inline bool knows_ranks(const DecodeWork& work)
{
    return !work.plan.retrieves && work.plan.window == 0;
}

__device__ inline bool has_table(const DecodeWork& work)
{
    return work.args.lists.page_stride <= table_pages;
}

__device__ inline Ahead fetch_ahead(const DecodeWork& work, const KvList& list)
{
    const auto self = static_cast<int32_t>(threadIdx.x);
    const int64_t rank = static_cast<int64_t>(blockIdx.x) * split_ranks + self;
    Ahead ahead;
    if (knows_ranks(work) && self < split_ranks && rank < work.args.lists.order_stride)
        ahead.row = list.order[rank];
#pragma unroll
    for (int i = 0; i < table_pages / threads; ++i)
        if (has_table(work) && self + i * threads < work.args.lists.page_stride)
            ahead.pages[i] = list.pages[self + i * threads];
    return ahead;
}

// Looks up the ranks and pool rows of the split. One thread per rank.
template<int heads>
__device__ inline void locate_rows(const DecodeWork& work, const Split& split, const KvList& list,
                                   const Ahead& ahead, SplitMemory<heads>& memory)
{
    const auto self = static_cast<int32_t>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < table_pages / threads; ++i)
        memory.pages[self + i * threads] = ahead.pages[i];
    __syncthreads();
    if (self < split.count) {
        const int32_t at = split.first + self;
        int32_t rank = at;
        uint32_t row = ahead.row;
        if (!knows_ranks(work)) {
            rank = work.plan.whole(split.used)
                       ? split.first_seen + at
                       : static_cast<int32_t>(work.read.ranks[split.head * work.read.stride + at]);
            row = list.order[rank];
        }
        memory.ranks[self] = rank;
        memory.places[self] =
            has_table(work) ? static_cast<int64_t>(memory.pages[row / page_rows]) * page_rows + row % page_rows
                            : list.place(row);
    }
    __syncthreads();
}

// Stores the new token's key and value. Only the split of the newest ranks reads them, so it stores them itself.
template<DType type, int heads>
__device__ inline void store_token(const DecodeWork& work, const Split& split, const SplitMemory<heads>& memory)
{
    const DecodeAttendArgs& args = work.args;
    const int32_t dim = args.shape.head_dim;
    const int64_t place = memory.places[split.count - 1];
    const float* key = args.qkv + (static_cast<int64_t>(args.shape.query_heads) + split.head) * dim;
    const float* value = key + static_cast<int64_t>(args.shape.kv_heads) * dim;
    const auto element = [&](int32_t i) { return key[i]; };
    const KvRow key_row = pool_row<type>(args.pool.keys, place, dim),
                value_row = pool_row<type>(args.pool.values, place, dim);
    for (auto i = static_cast<int32_t>(threadIdx.x); i < dim; i += threads) {
        store_element<type>(key_row, i,
                            args.rotation.keys_rotated ? rotated(args.rotation.table, 0, i, element) : element(i));
        store_element<type>(value_row, i, value[i]);
    }
    __syncthreads();
}

// Writes queries [first, first + heads) of the group, rotated to `position` and scaled, to `to` [heads, head_dim];
// zeros for heads beyond the group. `workers` threads share the work; this one is number `self`.
template<int heads>
__device__ inline void rotate_queries(const DecodeWork& work, const Split& split, int32_t first, int64_t position,
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
        float* rotated_query = to + g * dim;
        if (i >= half) {
            rotated_query[i + half] = is_head ? query[i + half] * work.scale : 0.0f;
            continue;
        }
        const float a = is_head ? query[i] * work.scale : 0.0f, b = is_head ? query[i + half] * work.scale : 0.0f;
        const float cosine = cosines[i], sine = cosines[half + i];
        rotated_query[i] = fmaf(-b, sine, a * cosine);
        rotated_query[i + half] = fmaf(a, sine, b * cosine);
    }
}

// The keys of a warp's 16 ranks of the split. A lane loads a vector from the left half of a key and the matching
// one from the right half, so that it holds whole rotary pairs.
template<DType type, int dim>
struct KeyRotation {
    static constexpr int each = vector_elements<type>, lanes = dim / 2 / each, rows = warp_lanes / lanes;
    static constexpr int steps = rotate_ranks / rows;
    KvVector<type> left[steps], right[steps];

    __device__ static int32_t first() { return static_cast<int32_t>(threadIdx.x) / warp_lanes * rotate_ranks; }
    __device__ static int lane() { return static_cast<int>(threadIdx.x) % warp_lanes; }
    __device__ static int column() { return lane() % lanes * each; }
    __device__ static int32_t rank(int step) { return first() + step * rows + lane() / lanes; }

    template<int heads>
    __device__ void load(const DecodeWork& work, const Split& split, const SplitMemory<heads>& memory)
    {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            const int64_t place = memory.places[min(rank(step), split.count - 1)];
            const KvRow key = pool_row<type>(work.args.pool.keys, place, dim);
            left[step].from(key, column());
            right[step].from(key, dim / 2 + column());
        }
    }
};

// The values that a thread loads: one vector of columns of every stripes-th rank, at most 8 at a time, to save
// registers.
template<DType type, int dim>
struct ValueRows {
    static constexpr int each = vector_elements<type>, lanes = dim / each, stripes = threads / lanes;
    static constexpr int all = split_ranks / stripes, count = all < 8 ? all : 8;
    KvVector<type> rows[count];

    __device__ static int column() { return static_cast<int>(threadIdx.x) % lanes * each; }
    __device__ static int32_t rank(int i) { return static_cast<int32_t>(threadIdx.x) / lanes + i * stripes; }

    // Loads the thread's rows from its number `first` on; skips those for which reads(index in the split) is false.
    template<int heads, class Reads>
    __device__ void load(const DecodeWork& work, const Split& split, int first, const SplitMemory<heads>& memory,
                         const Reads& reads)
    {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int32_t at = min(rank(first + i), split.count - 1);
            if (reads(at)) rows[i].from(pool_row<type>(work.args.pool.values, memory.places[at], dim), column());
        }
    }
};

// Computes a warp's logits of its 16 ranks of the split.
template<DType type, int dim, int heads>
__device__ inline void logits_of_warp(const DecodeWork& work, const Split& split,
                                      const KeyRotation<type, dim>& keys, const float* queries,
                                      SplitMemory<heads>& memory)
{
    using Keys = KeyRotation<type, dim>;
    constexpr int each = Keys::each, lanes = Keys::lanes, steps = Keys::steps;
    const int column = Keys::column();
    float left[steps][each], right[steps][each];
#pragma unroll
    for (int step = 0; step < steps; ++step) {
        keys.left[step].widen(left[step]);
        keys.right[step].widen(right[step]);
        if (work.args.rotation.keys_rotated) continue;
        const int32_t at = min(Keys::rank(step), split.count - 1);
        const float* cosines =
            work.args.rotation.table.cos_sin + (memory.ranks[at] - memory.ranks[Keys::first()]) * int64_t{dim};
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const float cosine = cosines[column + i], sine = cosines[dim / 2 + column + i];
            const float a = left[step][i], b = right[step][i];
            left[step][i] = fmaf(-b, sine, a * cosine);
            right[step][i] = fmaf(a, sine, b * cosine);
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
            const int32_t rank = Keys::rank(step);
            if (Keys::lane() % lanes == 0 && rank < split.count) memory.weights[g][rank] = sum;
        }
    }
}

// Logits, for head_dim 64 or 128, if all dimensions are rotated or keys are stored rotated. `queries`: shared
// memory [warps, heads, dim].
template<DType type, int dim, int heads>
__device__ inline void fast_logits(const DecodeWork& work, const Split& split, int32_t first_head,
                                   const KeyRotation<type, dim>& keys, float* queries, SplitMemory<heads>& memory)
{
    const int32_t first = KeyRotation<type, dim>::first();
    if (first >= split.count) return;
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = static_cast<int>(threadIdx.x) % warp_lanes;
    float* own = queries + warp * heads * dim;
    const int64_t position = work.args.rotation.keys_rotated ? 0 : split.used - memory.ranks[first];
    rotate_queries<heads>(work, split, first_head, position, lane, warp_lanes, own);
    __syncwarp();
    logits_of_warp<type, dim, heads>(work, split, keys, own, memory);
}

// Logits, for any head_dim and rotary_dim: one warp per rank. `queries`: shared memory [heads, head_dim].
template<DType type, int heads>
__device__ inline void plain_logits(const DecodeWork& work, const Split& split, int32_t first_head, float* queries,
                                    SplitMemory<heads>& memory)
{
    const auto self = static_cast<int>(threadIdx.x), warp = self / warp_lanes, lane = self % warp_lanes;
    const Rotation& rotation = work.args.rotation;
    const int32_t dim = work.args.shape.head_dim;
    const int32_t origin = split.first_seen; // keys are rotated by their distance from this rank
    rotate_queries<heads>(work, split, first_head, rotation.keys_rotated ? 0 : split.used - origin, self, threads,
                          queries);
    __syncthreads();
    for (int32_t i = warp; i < split.count; i += warps) {
        const KvRow key = pool_row<type>(work.args.pool.keys, memory.places[i], dim);
        const auto element = [&](int32_t d) { return load<type>(key, d); };
        float sums[heads] = {};
        for (int32_t d = lane; d < dim; d += warp_lanes) {
            const float x =
                rotation.keys_rotated ? element(d) : rotated(rotation.table, memory.ranks[i] - origin, d, element);
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

// Replaces logits by exp2(logit - row maximum). One warp per query head.
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
        work.of_splits.row_maxima[split.part + first_head + g] = top;
        work.of_splits.denominators[split.part + first_head + g] = total;
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

// Loads the weights that keep_top_mass computed between the two passes. One warp per query head.
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
        work.of_splits.row_maxima[split.part + first_head + g] = 0;
        work.of_splits.denominators[split.part + first_head + g] = total;
    }
}

// True if a query head of the tile attends to row i. A row that none attends to is not read: it may contain NaN,
// and 0 * NaN is NaN.
template<int heads>
__device__ inline bool any_head_reads(const SplitMemory<heads>& memory, int32_t i)
{
    bool reads = false;
#pragma unroll
    for (int g = 0; g < heads; ++g)
        reads |= memory.weights[g][i] != 0;
    return reads;
}

// Sums the values of the split, times their weights. `values` already holds the first ones, except with `sparse`:
// then only values with a weight are loaded. `parts`: shared memory [warps, heads, dim].
template<DType type, int dim, int heads, bool sparse>
__device__ inline void fast_values(const DecodeWork& work, const Split& split, int32_t first_head,
                                   ValueRows<type, dim>& values, float* parts, const SplitMemory<heads>& memory)
{
    using Values = ValueRows<type, dim>;
    constexpr int each = Values::each, lanes = Values::lanes;
    const auto self = static_cast<int>(threadIdx.x), warp = self / warp_lanes, lane = self % warp_lanes;
    const int column = Values::column();
    const auto reads = [&](int32_t i) { return !sparse || any_head_reads(memory, i); };
    float sums[heads][each] = {};
#pragma unroll
    for (int first = 0; first < Values::all; first += Values::count) {
        if (sparse || first > 0) values.load(work, split, first, memory, reads);
#pragma unroll
        for (int x = 0; x < Values::count; ++x) {
            const int32_t i = Values::rank(first + x);
            if (i >= split.count || !reads(i)) continue;
            float value[each];
            values.rows[x].widen(value);
#pragma unroll
            for (int g = 0; g < heads; ++g) {
                const float weight = memory.weights[g][i];
#pragma unroll
                for (int j = 0; j < each; ++j)
                    sums[g][j] = fmaf(weight, value[j], sums[g][j]);
            }
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
        work.of_splits.outs[(split.part + first_head) * dim + x] = sum;
    }
}

template<DType type, int heads, bool sparse>
__device__ inline void plain_values(const DecodeWork& work, const Split& split, int32_t first_head,
                                    const SplitMemory<heads>& memory)
{
    const int32_t dim = work.args.shape.head_dim;
    for (auto d = static_cast<int32_t>(threadIdx.x); d < dim; d += threads) {
        float sums[heads] = {};
        for (int32_t i = 0; i < split.count; ++i) {
            if (sparse && !any_head_reads(memory, i)) continue;
            const float value = load<type>(pool_row<type>(work.args.pool.values, memory.places[i], dim), d);
#pragma unroll
            for (int g = 0; g < heads; ++g)
                sums[g] = fmaf(memory.weights[g][i], value, sums[g]);
        }
        for (int g = 0; g < heads && first_head + g < work.group; ++g)
            work.of_splits.outs[(split.part + first_head + g) * dim + d] = sums[g];
    }
}

// True for the last of `count` blocks that call this; it sees everything that the others wrote before their calls.
__device__ inline bool is_last_to_finish(uint32_t* ticket, int32_t count)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(ticket, 1u) == static_cast<uint32_t>(count - 1);
        if (last) *ticket = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

// Computes the factor of each part from the row maxima and denominators, and stores it in place of the denominator.
// One warp per query head. `whole` receives the row maximum and softmax denominator of a bundle; null: `parts`
// are all parts of the list, and the factors include the division by its softmax denominator.
__device__ inline void combine_shares(const Parts& parts, int32_t count, int32_t group, const Parts* whole)
{
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = static_cast<int>(threadIdx.x) % warp_lanes;
    for (int32_t g = warp; g < group; g += warps) {
        const float* row_maxima = parts.row_maxima + g;
        float* denominators = parts.denominators + g;
        float top = row_maxima[0], total = 0;
        for (int64_t i = lane; i < count; i += warp_lanes)
            top = fmaxf(top, row_maxima[i * group]);
        top = warp_max(top);
        for (int64_t i = lane; i < count; i += warp_lanes)
            total += denominators[i * group] * exp2f(row_maxima[i * group] - top);
        total = warp_sum(total);
        for (int64_t i = lane; i < count; i += warp_lanes)
            denominators[i * group] = exp2f(row_maxima[i * group] - top) / (whole ? 1.0f : total);
        if (!whole || lane != 0) continue;
        whole->row_maxima[g] = top;
        whole->denominators[g] = total;
    }
    __syncthreads();
}

// Adds up `count` parts, in order, each times its factor. A thread adds `columns` neighbouring columns at a time.
template<int columns>
__device__ inline void add_parts(const Parts& parts, int32_t count, int32_t group, int32_t dim, float* to)
{
    const int32_t width = group * dim;
    for (auto x = static_cast<int32_t>(threadIdx.x) * columns; x < width; x += threads * columns) {
        const float* shares = parts.denominators + x / dim;
        float sums[columns] = {};
#pragma unroll 8
        for (int64_t i = 0; i < count; ++i) {
            float outs[columns];
            if constexpr (columns == 4)
                load_vector<DType::F32>(parts.outs + i * width, x, outs);
            else
                outs[0] = parts.outs[i * width + x];
            const float share = shares[i * group];
#pragma unroll
            for (int j = 0; j < columns; ++j)
                sums[j] = fmaf(share, outs[j], sums[j]);
        }
#pragma unroll
        for (int j = 0; j < columns; ++j)
            to[x + j] = sums[j];
    }
}

// Makes the factors of splits final for the signals: a split's factor in its bundle times the bundle's factor.
__device__ inline void finish_split_shares(const Parts& splits, int32_t count, int32_t group, const Parts& bundles)
{
    for (auto x = static_cast<int32_t>(threadIdx.x); x < count * group; x += threads)
        splits.denominators[x] *= bundles.denominators[x / (bundle_splits * group) * group + x % group];
}

template<int columns>
__device__ inline void combine_splits(const DecodeWork& work, const Split& split)
{
    const int32_t group = work.group, dim = work.args.shape.head_dim, bundle = split.index / bundle_splits;
    const int32_t first = bundle * bundle_splits, bundles = (split.of + bundle_splits - 1) / bundle_splits;
    const int32_t in_bundle = min(split.of - first, bundle_splits);
    float* out = work.args.out + static_cast<int64_t>(split.head) * group * dim;
    uint32_t* tickets = work.tickets + static_cast<int64_t>(split.head) * (work.bundles + 1);
    const Parts of_splits = work.of_splits.from(static_cast<int64_t>(split.head) * work.splits, group, dim);
    if (!is_last_to_finish(tickets + bundle, in_bundle)) return;
    if (bundles == 1) {
        combine_shares(of_splits, split.of, group, nullptr);
        return add_parts<columns>(of_splits, split.of, group, dim, out);
    }
    const Parts of_bundles = work.of_bundles.from(static_cast<int64_t>(split.head) * work.bundles, group, dim);
    const Parts members = of_splits.from(first, group, dim), whole = of_bundles.from(bundle, group, dim);
    combine_shares(members, in_bundle, group, &whole);
    add_parts<columns>(members, in_bundle, group, dim, whole.outs);
    if (!is_last_to_finish(tickets + work.bundles, bundles)) return;
    combine_shares(of_bundles, bundles, group, nullptr);
    add_parts<columns>(of_bundles, bundles, group, dim, out);
    if (work.weights) finish_split_shares(of_splits, split.of, group, of_bundles);
}

// Computes attention of `heads` query heads to the split: logits or weights and, unless `pass` is Keys, sums of
// values. `dim`: head_dim, or 0 for any. `shared`: shared memory for queries, later for the warps' sums of values.
template<DType type, int dim, int heads, DecodePass pass>
__device__ inline void attend_heads(const DecodeWork& work, const Split& split, int32_t first_head, float* shared,
                                    SplitMemory<heads>& memory)
{
    constexpr bool sparse = pass == DecodePass::Values;
    constexpr int fast_dim = dim > 0 ? dim : 64;
    [[maybe_unused]] ValueRows<type, fast_dim> values;
    if constexpr (sparse) {
        load_weights<heads>(work, split, first_head, memory);
    } else {
        if constexpr (dim > 0) {
            KeyRotation<type, dim> keys;
            keys.load(work, split, memory);
            if constexpr (pass == DecodePass::Both)
                values.load(work, split, 0, memory, [](int32_t) { return true; });
            fast_logits<type, dim, heads>(work, split, first_head, keys, shared, memory);
        } else {
            plain_logits<type, heads>(work, split, first_head, shared, memory);
        }
        __syncthreads();
        if (work.soft_cap > 0) cap_logits<heads>(work, split, memory);
        if constexpr (pass == DecodePass::Both) exponentials<heads>(work, split, first_head, memory);
    }
    __syncthreads();
    if constexpr (!sparse)
        if (work.weights) save_weights<heads>(work, split, first_head, memory);
    if constexpr (pass != DecodePass::Keys) {
        if constexpr (dim > 0)
            fast_values<type, dim, heads, sparse>(work, split, first_head, values, shared, memory);
        else
            plain_values<type, heads, sparse>(work, split, first_head, memory);
    }
    __syncthreads();
}

template<DType type, int dim, int heads, DecodePass pass>
__global__ void __launch_bounds__(threads) attend_split(DecodeWork work)
{
    __shared__ SplitMemory<heads> memory;
    let_next_kernel_begin();
    auto* shared = dynamic_shared<float>();
    const KvList list = list_of(work.args.pool, work.args.lists, blockIdx.y, work.args.shape.head_dim);
    const Ahead ahead = fetch_ahead(work, list);
    const Split split = split_of(work);
    if (split.index >= split.of) return;
    locate_rows<heads>(work, split, list, ahead, memory);
    if constexpr (pass != DecodePass::Values)
        if (split.last()) store_token<type, heads>(work, split, memory);
    for (int32_t first_head = 0; first_head < work.group; first_head += heads)
        attend_heads<type, dim, heads, pass>(work, split, first_head, shared, memory);
    if constexpr (pass != DecodePass::Keys) combine_splits<(dim > 0 ? 4 : 1)>(work, split);
}

template<DType type, int dim, int heads, DecodePass pass>
void launch_splits(const DecodeWork& work, CudaContext& context)
{
    const auto floats = static_cast<size_t>(dim > 0 ? warps * heads * dim : heads * work.args.shape.head_dim);
    const dim3 grid(static_cast<unsigned>(work.splits), static_cast<unsigned>(work.args.shape.kv_heads));
    launch(context, {grid, dim3(threads), floats * sizeof(float)}, attend_split<type, dim, heads, pass>, work);
}

template<DType type, int dim, DecodePass pass>
void launch_for_group(const DecodeWork& work, CudaContext& context)
{
    if (work.group == 1) return launch_splits<type, dim, 1, pass>(work, context);
    if (work.group <= 4) return launch_splits<type, dim, 4, pass>(work, context);
    launch_splits<type, dim, 8, pass>(work, context);
}

template<DecodePass pass>
void attend_splits(const DecodeWork& work, CudaContext& context)
{
    const Rotation& rotation = work.args.rotation;
    const int32_t dim = work.args.shape.head_dim;
    const bool pairs_fit = rotation.keys_rotated || rotation.table.rotary_dim == dim;
    with_pool_type(work.args.pool.type, [&](auto type) {
        constexpr DType element = decltype(type)::value;
        if (dim == 64 && pairs_fit) return launch_for_group<element, 64, pass>(work, context);
        if (dim == 128 && pairs_fit) return launch_for_group<element, 128, pass>(work, context);
        launch_splits<element, 0, 4, pass>(work, context);
    });
}

// Returns the tickets, which are zero between calls; clears them if their scratch was reallocated.
uint32_t* tickets(int32_t kv_heads, int32_t splits, CudaContext& context)
{
    const uint64_t before = context.scratch_bytes();
    const auto count = static_cast<size_t>(ticket_count(kv_heads, splits));
    auto* memory = context.scratch<uint32_t>(ScratchUse::Tickets, count);
    if (context.scratch_bytes() != before)
        check(cudaMemsetAsync(memory, 0, count * sizeof(uint32_t), context.stream()));
    return memory;
}

// Allocates the partial results. Sums of values come first in memory, since they are read as vectors, which must be
// aligned.
void plan_parts(DecodeWork& work, const HeadShape& shape, CudaContext& context)
{
    const auto splits = int64_t{shape.query_heads} * work.splits,
               bundles = int64_t{shape.query_heads} * work.bundles;
    const int64_t dim = shape.head_dim;
    auto* memory = context.scratch<float>(ScratchUse::Partials,
                                          static_cast<size_t>(partial_floats(shape.query_heads, work.splits, dim)));
    float* row_maxima = memory + (splits + bundles) * dim;
    work.of_splits = {memory, row_maxima, row_maxima + splits};
    row_maxima += 2 * splits;
    work.of_bundles = {memory + splits * dim, row_maxima, row_maxima + bundles};
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
    work.bundles = static_cast<int32_t>(bundles_of(work.splits));
    plan_parts(work, shape, context);
    work.weight_stride = int64_t{work.splits} * split_ranks;
    if (work.plan.retrieves && args.retrieval.top_p > 0)
        work.weights = context.scratch<float>(ScratchUse::Scores, static_cast<size_t>(shape.query_heads) *
                                                                      static_cast<size_t>(work.weight_stride));
    work.tickets = tickets(shape.kv_heads, work.splits, context);
    work.args.lists.used = args.lists.device_used;
    if (work.args.lists.used == nullptr)
        work.args.lists.used = context.send_cached(std::span(args.lists.used, static_cast<size_t>(shape.kv_heads)));
    return work;
}

void attend_by_mass(DecodeWork& work, CudaContext& context)
{
    attend_splits<DecodePass::Keys>(work, context);
    keep_top_mass({.weights = work.weights,
                   .stride = work.weight_stride,
                   .used = work.args.lists.used,
                   .plan = work.plan,
                   .query_heads = work.args.shape.query_heads,
                   .group = work.group,
                   .share = work.args.retrieval.top_p},
                  context);
    attend_splits<DecodePass::Values>(work, context);
}

// Places the weights and the splits' denominators (later factors) in one of two buffers, because signals may read
// them while the next layer's attention already writes its own. Allocates both: a recording must not allocate.
void use_signal_buffer(DecodeWork& work, size_t buffer, CudaContext& context)
{
    const size_t parts = static_cast<size_t>(work.args.shape.query_heads) * static_cast<size_t>(work.splits);
    float* const places[] = {context.scratch<float>(ScratchUse::Watched, parts * (1 + split_ranks)),
                             context.scratch<float>(ScratchUse::WatchedToo, parts * (1 + split_ranks))};
    work.weights = places[buffer];
    work.of_splits.denominators = work.weights + parts * split_ranks;
}

} // namespace

void decode_attend(const DecodeAttendArgs& args, CudaContext& context)
{
    const bool with_signals = wants_signals(args.signals);
    DecodeWork work = plan_work(args, context);
    // After a full read, signals run on a second stream, concurrently with the next layers.
    const bool concurrent = with_signals && !work.plan.retrieves;
    const size_t buffer = concurrent ? context.acquire_signal_buffer() : 0;
    if (with_signals && !concurrent)
        context.wait_for_aside(); // signals of an earlier layer may still read this buffer
    if (with_signals) use_signal_buffer(work, buffer, context);
    work.read = choose_ranks(args, work.args.lists.used, context);
    if (work.plan.retrieves && args.retrieval.top_p > 0)
        attend_by_mass(work, context);
    else
        attend_splits<DecodePass::Both>(work, context);
    write_key_norms(args.shape, args.qkv, 1, {.exact = work.args.lists.used, .most = args.lists.used}, args.signals,
                    context);
    write_key_similarities({.shape = args.shape, .pool = args.pool, .lists = work.args.lists, .pooled = 1},
                           args.signals, context);
    if (!with_signals) return;
    const DecodedWeights weights{.weights = work.weights,
                                 .stride = work.weight_stride,
                                 .shares = work.of_splits.denominators,
                                 .splits = work.splits};
    if (!concurrent) return decode_signals(args, work.args.lists.used, work.read, weights, context);
    const auto second_stream = context.aside();
    decode_signals(args, work.args.lists.used, work.read, weights, context);
    context.release_signal_buffer(buffer);
}

} // namespace palimpsest::kernels::cuda
