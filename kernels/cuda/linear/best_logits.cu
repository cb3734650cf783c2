// The largest logits, by bitonic top-k (Shanbhag, Pirk, Madden, "Efficient Top-K Query Processing on Massively
// Parallel Hardware", SIGMOD 2018): runs of as many keys as are wanted are sorted, then two runs are replaced by
// the better half of both until one is left. One block does that for each tile of logits, then a single block for
// the runs of all tiles. If one logit is wanted, a run is one key: nothing is sorted, and the merge is a tree of
// maxima.
#include <algorithm>
#include <bit>

#include "kernels/cuda/device/block_select.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/device/ordered_bits.h"
#include "kernels/cuda/device/unroll.h"

namespace palimpsest::kernels::cuda {
namespace {

// A larger key is a better logit: a higher one, or an equal one with a lower id.
using Key = uint64_t;
constexpr Key nothing = 0; // below the key of every logit

constexpr int threads = 512;
constexpr int tile = 2048;   // logits per block
constexpr int merged = 4096; // keys that merge_tiles merges at a time: 32 KiB

struct BestLogits {
    BestLogitsArgs args;
    int run_bits = 0; // log2 of the keys in a run: the power of two that holds `wanted`
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

// Orders pairs of keys that are `stride` apart. In stretches of `size` keys that descend, the larger key comes
// first; in those that ascend, last.
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

// Waits between two steps. If both strides are at most a warp's width, each warp uses the same 2 * 32 keys in both
// steps, and __syncwarp suffices.
__device__ inline void wait_between_steps(int stride, int next)
{
    if (stride <= warp_lanes && next <= warp_lanes)
        __syncwarp();
    else
        __syncthreads();
}

// Sorts stretches of `size` keys, alternately descending and ascending; whole runs descend. REQUIRES: each stretch
// is bitonic.
__device__ inline void order_stretches(const Runs& runs, int size)
{
    for (int stride = size / 2; stride > 0; stride /= 2) {
        order_pairs(runs, size, stride);
        // After the last step, the next stretches are 2 * size long, and their first stride is `size`.
        wait_between_steps(stride, stride > 1 ? stride / 2 : size);
    }
}

// Compares each key of a run with the mirrored key of the run half a spacing behind, and keeps the larger. The
// result is the better half of both runs, and bitonic. `total`: runs before this step.
__device__ inline void keep_better_half(const Runs& runs, int total)
{
    const int run = 1 << runs.run_bits;
    for (auto i = static_cast<int>(threadIdx.x); i < runs.count << runs.run_bits; i += threads) {
        const int first = (i >> runs.run_bits) * runs.spacing, other = first + runs.spacing / 2;
        if (other >= total << runs.run_bits) continue;
        Key& mine = runs.keys[first + (i & (run - 1))];
        const Key theirs = runs.keys[other + run - 1 - (i & (run - 1))];
        if (mine < theirs) mine = theirs;
    }
    __syncthreads();
}

// Reduces `count` adjacent descending runs to the best keys, which become the first run, descending.
__device__ inline void reduce_runs(Key* keys, int run_bits, int count)
{
    for (int reach = 1; reach < count; reach *= 2) {
        const Runs runs{keys, run_bits, (count + 2 * reach - 1) / (2 * reach), 2 * reach << run_bits};
        keep_better_half(runs, count);
        order_stretches(runs, 1 << run_bits);
        __syncthreads();
    }
}

__device__ inline int32_t block_min(int32_t x)
{
    return block_reduce<threads>(x, [](int32_t a, int32_t b) { return a < b ? a : b; });
}

// Calls use(own, i) for every place i of a tile that this thread handles.
template<class Use>
__device__ inline void for_each_own(Use&& use)
{
    unrolled<tile / threads>([&](int own) { use(own, own * threads + static_cast<int>(threadIdx.x)); });
}

// One block per tile.
__global__ void sort_tiles(BestLogits best)
{
    __shared__ Key keys[tile];
    const int64_t first = static_cast<int64_t>(blockIdx.x) * tile, left = best.args.count - first;
    const int count = left < tile ? static_cast<int>(left) : tile;
    const int run = 1 << best.run_bits, runs = (count + run - 1) >> best.run_bits;
    auto bad = static_cast<int32_t>(best.args.count);
    float logits[tile / threads]; // all loads are in flight before the first value is used
    for_each_own([&](int own, int i) { logits[own] = i < count ? best.args.logits[first + i] : 0.0f; });
    for_each_own([&](int own, int i) {
        const auto id = static_cast<int32_t>(first + i);
        keys[i] = i < count ? key_of(logits[own], id) : nothing;
        if (!is_finite(logits[own]) && id < bad) bad = id;
    });
    bad = block_min(bad);
    for (int size = 2; size <= run; size *= 2)
        order_stretches({keys, best.run_bits, runs, run}, size);
    __syncthreads();
    reduce_runs(keys, best.run_bits, runs);
    for (auto i = static_cast<int>(threadIdx.x); i < run; i += threads)
        best.runs[static_cast<int64_t>(blockIdx.x) * run + i] = keys[i];
    if (threadIdx.x == 0) best.first_bad[blockIdx.x] = bad;
}

// One block. The best run so far is the first run of the next merge.
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

// Room for any `wanted`, so that a different one never reallocates scratch that a recording uses.
size_t most_keys(int tiles)
{
    return static_cast<size_t>(tiles) * std::bit_ceil(static_cast<unsigned>(BestLogitsArgs::most));
}

} // namespace

size_t best_logits_bytes(int64_t count)
{
    const auto tiles = static_cast<int>((count + tile - 1) / tile);
    const size_t bads = static_cast<size_t>(tiles) * sizeof(int32_t);
    return (most_keys(tiles) + (bads + sizeof(Key) - 1) / sizeof(Key)) * sizeof(Key);
}

void best_logits(const BestLogitsArgs& args, CudaContext& context)
{
    BestLogits best{.args = args, .tiles = static_cast<int>((args.count + tile - 1) / tile)};
    best.run_bits = std::bit_width(static_cast<unsigned>(std::max(args.wanted, 1) - 1));
    best.runs = context.scratch<Key>(ScratchUse::BestLogits, best_logits_bytes(args.count) / sizeof(Key));
    best.first_bad = reinterpret_cast<int32_t*>(best.runs + most_keys(best.tiles));
    const auto tiles = static_cast<unsigned>(best.tiles);
    launch(context, {dim3(tiles), dim3(threads)}, sort_tiles, best);
    launch(context, {dim3(1), dim3(threads)}, merge_tiles, best);
}

} // namespace palimpsest::kernels::cuda
