// The largest logits, by bitonic top-k (Shanbhag, Pirk, Madden, "Efficient Top-K Query Processing on Massively
// Parallel Hardware", SIGMOD 2018): runs of as many keys as are wanted are sorted, then two of them give the better
// half of both until one is left. A block does that for a tile of logits, then one block for what the tiles left.
// One logit is a run of one: nothing is sorted, and what remains is a tree of maxima.
#include <algorithm>
#include <bit>

#include "kernels/cuda/block_select.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/ordered_bits.h"
#include "kernels/cuda/unroll.h"

namespace palimpsest::kernels::cuda {
namespace {

// Larger is better: the logit, then the lower id.
using Key = uint64_t;
constexpr Key nothing = 0; // below every logit's

constexpr int threads = 512;
constexpr int tile = 2048;   // logits of a block
constexpr int merged = 4096; // keys at a time where tiles meet: 32 KiB

struct BestLogits {
    BestLogitsArgs args;
    int run_bits = 0; // a run is the power of two that holds `wanted`
    int tiles = 0;
    Key* runs = nullptr;          // [tiles, run], descending
    int32_t* first_bad = nullptr; // [tiles]
};

__device__ inline Key key_of(float logit, int32_t id)
{
    return static_cast<Key>(ordered_bits(logit)) << 32 | ~static_cast<uint32_t>(id);
}

__device__ inline int32_t id_of(Key key)
{
    return static_cast<int32_t>(~static_cast<uint32_t>(key));
}

__device__ inline bool is_finite(float x)
{
    return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u;
}

// `count` runs of 2^run_bits keys, `spacing` apart.
struct Runs {
    Key* keys = nullptr;
    int run_bits = 0;
    int count = 0;
    int spacing = 0;
};

// The larger of two keys that are `stride` apart goes first; last in blocks of `size` that shall ascend.
__device__ inline void order_pairs(const Runs& runs, int size, int stride)
{
    const int pairs_bits = runs.run_bits - 1;
    for (auto pair = static_cast<int>(threadIdx.x); pair < runs.count << pairs_bits; pair += threads) {
        const int within = pair & ((1 << pairs_bits) - 1), place = 2 * within - (within & (stride - 1));
        Key* at = runs.keys + (pair >> pairs_bits) * runs.spacing + place;
        const Key a = at[0], b = at[stride];
        const bool descends = (place & size) == 0 || size == 1 << runs.run_bits;
        if ((a < b) == descends) {
            at[0] = b;
            at[stride] = a;
        }
    }
}

// Pairs up to a warp's width apart are 2 * 32 keys that the same warp has again in the next such step.
__device__ inline void meet(int stride, int next)
{
    if (stride <= warp_lanes && next <= warp_lanes)
        __syncwarp();
    else
        __syncthreads();
}

// Makes blocks of `size` keys descend or ascend in turn, whole runs descend. REQUIRES: each is bitonic.
__device__ inline void order_blocks(const Runs& runs, int size)
{
    for (int stride = size / 2; stride > 0; stride /= 2) {
        order_pairs(runs, size, stride);
        meet(stride, stride > 1 ? stride / 2 : size);
    }
}

// Thread by thread the first runs' keys meet those of the runs half a spacing behind, from their ends: what wins is
// the better half of both, and bitonic.
__device__ inline void keep_better_half(const Runs& runs, int all)
{
    const int run = 1 << runs.run_bits;
    for (auto i = static_cast<int>(threadIdx.x); i < runs.count << runs.run_bits; i += threads) {
        const int first = (i >> runs.run_bits) * runs.spacing, other = first + runs.spacing / 2;
        if (other >= all << runs.run_bits) continue;
        Key& mine = runs.keys[first + (i & (run - 1))];
        const Key theirs = runs.keys[other + run - 1 - (i & (run - 1))];
        if (mine < theirs) mine = theirs;
    }
    __syncthreads();
}

// Of `count` descending runs side by side, the best become the first run, descending.
__device__ inline void reduce_runs(Key* keys, int run_bits, int count)
{
    for (int reach = 1; reach < count; reach *= 2) {
        const Runs runs{keys, run_bits, (count + 2 * reach - 1) / (2 * reach), 2 * reach << run_bits};
        keep_better_half(runs, count);
        order_blocks(runs, 1 << run_bits);
        __syncthreads();
    }
}

__device__ inline int32_t block_min(int32_t x)
{
    return block_reduce<threads>(x, [](int32_t a, int32_t b) { return a < b ? a : b; });
}

// use(own, i) for every place i of a tile that is this thread's.
template<class Use>
__device__ inline void for_each_own(Use&& use)
{
    unrolled<tile / threads>([&](int own) { use(own, own * threads + static_cast<int>(threadIdx.x)); });
}

// A block per tile.
__global__ void sort_tiles(BestLogits best)
{
    __shared__ Key keys[tile];
    const int64_t first = static_cast<int64_t>(blockIdx.x) * tile, left = best.args.count - first;
    const int count = left < tile ? static_cast<int>(left) : tile;
    const int run = 1 << best.run_bits, runs = (count + run - 1) >> best.run_bits;
    auto bad = static_cast<int32_t>(best.args.count);
    float logits[tile / threads]; // all are on their way before the first is needed
    for_each_own([&](int own, int i) { logits[own] = i < count ? best.args.logits[first + i] : 0.0f; });
    for_each_own([&](int own, int i) {
        const auto id = static_cast<int32_t>(first + i);
        keys[i] = i < count ? key_of(logits[own], id) : nothing;
        if (!is_finite(logits[own]) && id < bad) bad = id;
    });
    bad = block_min(bad);
    for (int size = 2; size <= run; size *= 2)
        order_blocks({keys, best.run_bits, runs, run}, size);
    __syncthreads();
    reduce_runs(keys, best.run_bits, runs);
    for (auto i = static_cast<int>(threadIdx.x); i < run; i += threads)
        best.runs[static_cast<int64_t>(blockIdx.x) * run + i] = keys[i];
    if (threadIdx.x == 0) best.first_bad[blockIdx.x] = bad;
}

// One block. The best so far is the first of the runs that meet next.
__global__ void merge_tiles(BestLogits best)
{
    __shared__ Key keys[merged];
    const int run = 1 << best.run_bits, most = merged >> best.run_bits;
    for (auto i = static_cast<int>(threadIdx.x); i < run; i += threads)
        keys[i] = best.runs[i];
    for (int first = 1; first < best.tiles; first += most - 1) {
        const int more = best.tiles - first < most - 1 ? best.tiles - first : most - 1;
        for (auto i = static_cast<int>(threadIdx.x); i < more * run; i += threads)
            keys[run + i] = best.runs[static_cast<int64_t>(first) * run + i];
        __syncthreads();
        reduce_runs(keys, best.run_bits, 1 + more);
    }
    __syncthreads();
    for (auto i = static_cast<int>(threadIdx.x); i < best.args.wanted; i += threads) {
        const int32_t id = id_of(keys[i]);
        best.args.ids[i] = id;
        best.args.best[i] = best.args.logits[id];
    }
    auto bad = static_cast<int32_t>(best.args.count);
    for (auto i = static_cast<int>(threadIdx.x); i < best.tiles; i += threads)
        bad = best.first_bad[i] < bad ? best.first_bad[i] : bad;
    bad = block_min(bad);
    if (threadIdx.x == 0) *best.args.first_bad = bad;
}

} // namespace

void best_logits(const BestLogitsArgs& args, CudaContext& context)
{
    BestLogits best{.args = args, .tiles = static_cast<int>((args.count + tile - 1) / tile)};
    best.run_bits = std::bit_width(static_cast<unsigned>(std::max(args.wanted, 1) - 1));
    // As much as any `wanted` takes, so that another one moves nothing that was recorded.
    const size_t keys =
        static_cast<size_t>(best.tiles) * std::bit_ceil(static_cast<unsigned>(BestLogitsArgs::most));
    const size_t bads = static_cast<size_t>(best.tiles) * sizeof(int32_t);
    best.runs = context.scratch<Key>(ScratchUse::BestLogits, keys + (bads + sizeof(Key) - 1) / sizeof(Key));
    best.first_bad = reinterpret_cast<int32_t*>(best.runs + keys);
    const auto tiles = static_cast<unsigned>(best.tiles);
    launch(context, {dim3(tiles), dim3(threads)}, sort_tiles, best);
    launch(context, {dim3(1), dim3(threads)}, merge_tiles, best);
}

} // namespace palimpsest::kernels::cuda
