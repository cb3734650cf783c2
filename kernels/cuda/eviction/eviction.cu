// Selects the ranks to evict from a layer's lists, and removes them from all per-rank arrays: one block per list,
// whose threads stride over ranks or over words of bits. Plan, sizes and counts are read on the device, so the host
// never waits.
#include <algorithm>

#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/eviction/evicted_ranks.h"
#include "kernels/cuda/eviction/eviction_scores.h"
#include "kernels/cuda/eviction/free_rows.h"
#include "kernels/cuda/eviction/list_plan.h"
#include "kernels/cuda/eviction/lowest_ranks.h"
#include "kernels/cuda/eviction/tile_waves.h"

namespace palimpsest::kernels::cuda {
namespace {

// A block starts only when a multiprocessor has room for all of its threads. After a decoded token it runs beside
// matrix products, and a large block would wait for them.
constexpr int chunk_threads = 1024, token_threads = 256;
constexpr int moves_per_thread = 4; // ranks that a thread loads before it stores any

// Scratch of all blocks: each list has a part of `keys` and of `words`.
struct EvictionScratch {
    uint64_t* keys;  // [kv_heads, max_size] by rank or place; null: not needed
    uint32_t* words; // [kv_heads, list_words]
    int64_t max_size, bit_words, list_words;

    __device__ uint64_t* list_keys(int64_t head) const { return keys ? keys + head * max_size : nullptr; }
    __device__ uint32_t* evicted(int64_t head) const { return words + head * list_words; }
    __device__ uint32_t* before(int64_t head) const { return evicted(head) + bit_words; }
    // Used twice: first for the ties of LowestRanks or the entries of TileWaves, later for the rows that were
    // dropped from an order list.
    __device__ uint32_t* reused(int64_t head) const { return before(head) + bit_words; }
};

template<int threads>
__device__ void mark_all(const uint32_t* ranks, const EvictedRanks<threads>& evicted)
{
    for (uint32_t i = threadIdx.x; i < evicted.count; i += threads)
        evicted.mark(ranks[i]);
}

template<int threads>
__device__ void mark_lowest(const EvictArgs& args, int64_t head, const ListPlan& list, const EvictionScratch& room,
                            const EvictedRanks<threads>& evicted)
{
    const LowestRanks<threads> lowest(list.first, list.end, list.evicted);
    const uint64_t* keys = room.list_keys(list_of_keys(args.rule, head));
    if (list.evicted > 1)
        lowest.mark(keys, evicted, room.reused(head));
    else if (keys)
        lowest.mark_one([=](uint32_t entry) { return keys[entry]; }, evicted);
    else
        lowest.mark_one([&](uint32_t entry) { return score_key(raw_score(args, head, entry)); }, evicted);
}

// `dropped` and the marks hold entry numbers, which skip pinned tokens; replaces both by ranks.
template<int threads>
__device__ void skip_pinned(const PinnedRanks& pinned, int64_t head, uint32_t* dropped,
                            const EvictedRanks<threads>& evicted)
{
    for (uint32_t i = threadIdx.x; i < evicted.count; i += threads)
        dropped[i] = static_cast<uint32_t>(rank_of_entry(pinned, head, dropped[i]));
    evicted.clear();
    __syncthreads();
    mark_all(dropped, evicted);
    __syncthreads();
    evicted.put(dropped); // writes the same ranks again, but updates evicted.before
    __syncthreads();
}

template<int threads>
__device__ void move_pinned(uint32_t* ranks, uint32_t held, const EvictedRanks<threads>& evicted)
{
    for (uint32_t i = threadIdx.x; i < held; i += threads)
        ranks[i] -= evicted.evicted_before(ranks[i]);
}

// A list's rows of the per-rank arrays; null: not present.
struct RankRows {
    double *sum, *count;
    uint32_t* order;
};

// Moves the kept ranks down to close the gaps, in ascending stretches. The block reads a whole stretch, waits, and
// writes it; no further barrier is needed, because the next stretch lies above all that was written. `first`: the
// first evicted rank.
template<int threads>
__device__ void compact_ranks(const RankRows& rows, const EvictedRanks<threads>& evicted, uint32_t first)
{
    for (uint32_t stretch = first; stretch < evicted.size; stretch += threads * moves_per_thread) {
        double sum[moves_per_thread], count[moves_per_thread];
        uint32_t order[moves_per_thread];
#pragma unroll
        for (int move = 0; move < moves_per_thread; ++move) {
            const uint32_t rank = stretch + threadIdx.x + static_cast<uint32_t>(move * threads);
            if (rank >= evicted.size) continue;
            if (rows.sum) sum[move] = rows.sum[rank];
            if (rows.count) count[move] = rows.count[rank];
            if (rows.order) order[move] = rows.order[rank];
        }
        __syncthreads();
#pragma unroll
        for (int move = 0; move < moves_per_thread; ++move) {
            const uint32_t rank = stretch + threadIdx.x + static_cast<uint32_t>(move * threads);
            if (rank >= evicted.size || evicted.contains(rank)) continue;
            const uint32_t to = rank - evicted.evicted_before(rank);
            if (rows.sum) rows.sum[to] = sum[move];
            if (rows.count) rows.count[to] = count[move];
            if (rows.order) rows.order[to] = order[move];
        }
    }
}

template<int threads>
__device__ void put_kept(uint32_t* kept, const EvictedRanks<threads>& evicted)
{
    for (uint32_t rank = threadIdx.x; rank < evicted.size; rank += threads)
        if (!evicted.contains(rank)) kept[rank - evicted.evicted_before(rank)] = rank;
}

template<int threads>
__device__ void put_all(uint32_t* kept, uint32_t size)
{
    for (uint32_t rank = threadIdx.x; rank < size; rank += threads)
        kept[rank] = rank;
}

// Removes the evicted ranks, `dropped`, ascending, from the per-rank arrays.
template<int threads>
__device__ void remove_evicted(const EvictArgs& args, int64_t head, const EvictedRanks<threads>& evicted,
                               const uint32_t* dropped, uint32_t* dropped_rows)
{
    const auto count = static_cast<int32_t>(evicted.count), size = static_cast<int32_t>(evicted.size);
    const int64_t statistics = head * args.statistics.stride;
    const RankRows rows{args.statistics.sum ? args.statistics.sum + statistics : nullptr,
                        args.statistics.count ? args.statistics.count + statistics : nullptr,
                        args.order ? args.order + head * args.order_stride : nullptr};
    if (rows.order)
        for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count; i += threads)
            dropped_rows[i] = rows.order[dropped[i]];
    compact_ranks(rows, evicted, dropped[0]); // its first barrier comes after all reads of rows.order above
    if (rows.order)
        for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count; i += threads)
            rows.order[freed_row_index(dropped, count, size, i)] = dropped_rows[i];
}

// One block per list.
template<int threads>
__global__ void __launch_bounds__(threads) evict_kernel(EvictArgs args, EvictionScratch room)
{
    __shared__ uint32_t single;
    const int64_t head = blockIdx.x;
    const ListPlan list = list_plan(args.plan, head);
    uint32_t* kept = args.kept ? args.kept + head * args.kept_stride : nullptr;
    if (list.evicted == 0) {
        if (kept) put_all<threads>(kept, list.size);
        return;
    }
    const uint32_t held = args.pinned.ranks ? args.pinned.held[head] : 0;
    // Marks entries, without the pinned tokens, at first; skip_pinned below turns the marks into ranks.
    EvictedRanks<threads> evicted{room.evicted(head), room.before(head), &single, list.evicted, list.size - held};
    evicted.clear();
    __syncthreads();
    if (list.given == 1 || args.rule.select == SelectRule::Given)
        mark_all(args.plan + list.data, evicted);
    else if (args.rule.select == SelectRule::Lowest)
        mark_lowest(args, head, list, room, evicted);
    else
        TileWaves<threads>(args, head, list, room.reused(head), room.list_keys(head)).mark(evicted);
    __syncthreads();
    uint32_t* dropped = args.dropped + head * args.dropped_stride;
    evicted.put(dropped);
    __syncthreads();
    evicted.size = list.size;
    if (held > 0) skip_pinned(args.pinned, head, dropped, evicted);
    if (kept) put_kept(kept, evicted);
    remove_evicted(args, head, evicted, dropped, room.reused(head));
    if (held > 0) move_pinned(args.pinned.ranks + head * args.pinned.stride, held, evicted);
}

// True if the selection reads keys more than once, so that they are kept in scratch.
bool needs_keys(const EvictArgs& args)
{
    if (args.rule.select == SelectRule::Lowest) return args.max_evicted > 1 || is_shaped(args.rule);
    return args.rule.select == SelectRule::Tiles && args.rule.ties_keep_older;
}

EvictionScratch room_of(const EvictArgs& args, CudaContext& context)
{
    EvictionScratch room{};
    room.max_size = args.max_size;
    room.bit_words = (args.max_size + 31) / 32;
    room.list_words = 2 * room.bit_words + std::max(args.max_size, args.max_evicted);
    const auto lists = static_cast<size_t>(args.kv_heads), ranks = static_cast<size_t>(args.max_size);
    if (needs_keys(args)) room.keys = context.scratch<uint64_t>(ScratchUse::EvictionScores, lists * ranks);
    room.words = context.scratch<uint32_t>(ScratchUse::EvictionRanks, lists * static_cast<size_t>(room.list_words));
    return room;
}

} // namespace

void evict(const EvictArgs& args, CudaContext& context)
{
    if (args.kv_heads == 0 || args.max_size == 0) return;
    const EvictionScratch room = room_of(args, context);
    if (args.rule.select == SelectRule::Lowest && room.keys) score_entries(args, room.keys, room.max_size, context);
    const auto lists = static_cast<unsigned>(args.kv_heads);
    if (args.order) // set after a decoded token only
        launch(context, {dim3(lists), dim3(token_threads)}, evict_kernel<token_threads>, args, room);
    else
        launch(context, {dim3(lists), dim3(chunk_threads)}, evict_kernel<chunk_threads>, args, room);
}

} // namespace palimpsest::kernels::cuda
