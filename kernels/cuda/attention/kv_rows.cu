// All kernels that move rows of keys and values within lists or copy them out, and those that drop ranks from order
// lists.
//
// Rows are divided into columns of 32 bytes. A kernel that moves rows in place uses one block for each column of
// one list's keys or values, so that no block reads what another writes. Rows move to lower places, in ascending
// tiles, and a block loads a whole tile before it stores any of it. One barrier a tile suffices: everything that
// later tiles load lies above everything that this one stores.
#include "kernels/cuda/device/kernels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cuda/attention/quantise.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/eviction/free_rows.h"
#include "kernels/kv_page.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int block_threads = 256;
constexpr int column_bytes = 32; // the unit of memory reads
constexpr int tile_moves = 4;    // vectors, or entries of an order list, that a thread loads before it stores any
constexpr size_t most_scratch = size_t{32} << 20; // bytes; larger copies are made in several pieces

// Calls use() with a value of the widest vector type, of at most 16 bytes, that divides a row of `bytes`.
template<class Use>
void with_vector(int64_t bytes, Use&& use)
{
    if (bytes % 16 == 0) return use(uint4());
    if (bytes % 8 == 0) return use(uint2());
    if (bytes % 4 == 0) return use(uint32_t());
    use(uint16_t());
}

// One plane (elements or scales, kv_page.h) of the pages that hold the keys and values of one layer, read and
// written as vectors of 2 to 16 bytes.
template<class Vector>
struct PagedRows {
    Vector *keys, *values;
    const uint32_t* pages; // [heads, page_stride]
    int64_t page_stride;
    int64_t page_vectors; // vectors from one page to the next
    int32_t vectors;      // vectors in one row

    __device__ Vector* row(bool of_values, int64_t head, int64_t row) const
    {
        const int64_t page = pages[head * page_stride + row / page_rows];
        return (of_values ? values : keys) + page * page_vectors + row % page_rows * vectors;
    }
};

enum class Plane : uint8_t { Elements, Scales };

int64_t plane_bytes(const KvPage& page, Plane plane) // per row
{
    return plane == Plane::Elements ? page.element_bytes : page.scale_bytes;
}

template<class Vector>
PagedRows<Vector> paged_rows(const HeadShape& shape, const KvPool& pool, const KvLists& lists,
                             Plane plane = Plane::Elements)
{
    constexpr auto vector = static_cast<int64_t>(sizeof(Vector));
    const KvPage page = kv_page(pool.type, shape.head_dim);
    const int64_t first = plane == Plane::Elements ? page.elements_at(0) : page.scales_at(0);
    return {reinterpret_cast<Vector*>(pool.keys + first),
            reinterpret_cast<Vector*>(pool.values + first),
            lists.pages,
            lists.page_stride,
            page.bytes() / vector,
            static_cast<int32_t>(plane_bytes(page, plane) / vector)};
}

// Calls use(plane, bytes of a row) for every plane of a pool's pages.
template<class Use>
void for_planes(const HeadShape& shape, const KvPool& pool, Use&& use)
{
    const KvPage page = kv_page(pool.type, shape.head_dim);
    for (const Plane plane : {Plane::Elements, Plane::Scales})
        if (plane_bytes(page, plane) > 0) use(plane, plane_bytes(page, plane));
}

template<class Vector>
constexpr int column_vectors()
{
    return column_bytes / static_cast<int>(sizeof(Vector));
}

// Which vectors of a tile each thread of a block moves. With n vectors in a column, thread t moves vector t % n of
// the rows t / n, t / n + rows_at_once, and so on.
template<class Vector>
struct ColumnPart {
    static constexpr int in_column = column_vectors<Vector>();
    static constexpr int rows_at_once = block_threads / in_column;
    static constexpr int tile = rows_at_once * tile_moves;
    static_assert(block_threads % in_column == 0);

    __device__ static int vector() { return static_cast<int>(blockIdx.x * in_column + threadIdx.x % in_column); }
    __device__ static int row(int move) { return static_cast<int>(threadIdx.x / in_column) + move * rows_at_once; }
};

// The ranks that are sent for one list: ranks[begin + i], i < count, to keep (compact) or to drop (drop). `used`:
// length of the list; in compact it excludes the chunk, whose rows have the ranks from `used` on. `first`: in
// compact the rank that the first moved row gets, or unknown_first; in drop the first dropped rank.
struct ListRanks {
    int32_t begin, first, count, used;
};

struct SentRanks {
    const ListRanks* lists = nullptr; // [heads]
    const uint32_t* ranks = nullptr;
};

// Packs the ranks of all lists of a layer, to send them in one piece. Reused between calls, so that a decoded token
// allocates nothing.
class RankPacker {
public:
    void start(int64_t heads)
    {
        lists_ = heads;
        words_.assign(static_cast<size_t>(heads) * header_words, 0);
    }
    void add(int64_t head, int32_t first, int32_t used, std::span<const uint32_t> ranks)
    {
        const ListRanks list{static_cast<int32_t>(count()), first, static_cast<int32_t>(ranks.size()), used};
        std::memcpy(words_.data() + static_cast<size_t>(head) * header_words, &list, sizeof list);
        words_.insert(words_.end(), ranks.begin(), ranks.end());
    }
    size_t count() const { return words_.size() - static_cast<size_t>(lists_) * header_words; }

    // Small arrays go through the ring of pinned memory (CudaContext::send), larger ones through scratch.
    SentRanks send(CudaContext& context, ScratchUse use) const
    {
        constexpr size_t most_in_ring = size_t{256} << 10;
        const size_t bytes = words_.size() * sizeof(uint32_t);
        if (bytes <= most_in_ring) return parts(context.send(std::span<const uint32_t>(words_)));
        uint32_t* device = context.scratch<uint32_t>(use, words_.size());
        check(cudaMemcpyAsync(device, words_.data(), bytes, cudaMemcpyHostToDevice, context.stream()));
        context.finish(); // the next call overwrites the words
        return parts(device);
    }

private:
    static constexpr size_t header_words = sizeof(ListRanks) / sizeof(uint32_t);

    SentRanks parts(const uint32_t* words) const
    {
        return {reinterpret_cast<const ListRanks*>(words), words + static_cast<size_t>(lists_) * header_words};
    }

    int64_t lists_ = 0;
    std::vector<uint32_t> words_;
};

// ---- compact

template<class Vector>
struct Staged {
    const Vector *keys, *values;
    int64_t capacity;
};

// Returns how many of the kept ranks need not move: those with kept[i] = i. They are a prefix, since kept ranks
// ascend.
__host__ __device__ int32_t in_place(const uint32_t* kept, int32_t count)
{
    int32_t low = 0, high = count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (kept[middle] == static_cast<uint32_t>(middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// ListRanks::first if the host does not know the kept ranks: the device then finds it.
constexpr int32_t unknown_first = -1;

__device__ ListRanks without_prefix(const SentRanks& kept, int64_t head)
{
    ListRanks list = kept.lists[head];
    if (list.first != unknown_first) return list;
    const int32_t staying = list.count < list.used ? list.count : list.used; // staged rows always move
    list.first = in_place(kept.ranks + list.begin, staying);
    list.begin += list.first;
    list.count -= list.first;
    return list;
}

// Moves row kept.ranks[begin + i] to row first + i: while prefilling, the row of a token is its rank (KvLists).
// Ranks from `used` on are rows of the staging buffer. One block per column, list, and keys or values.
template<class Vector>
__global__ void __launch_bounds__(block_threads)
    compact_kernel(PagedRows<Vector> rows, Staged<Vector> staged, SentRanks kept)
{
    using Part = ColumnPart<Vector>;
    const bool of_values = blockIdx.y == 1;
    const int vector = Part::vector();
    const int64_t head = blockIdx.z;
    const ListRanks moved = without_prefix(kept, head);
    const Vector* chunk = (of_values ? staged.values : staged.keys) + head * staged.capacity * rows.vectors;
    for (int tile = 0; tile < moved.count; tile += Part::tile) {
        Vector held[tile_moves];
#pragma unroll
        for (int move = 0; move < tile_moves; ++move) {
            const int i = tile + Part::row(move);
            if (i >= moved.count || vector >= rows.vectors) continue;
            const int64_t from = kept.ranks[moved.begin + i];
            const Vector* row =
                from < moved.used ? rows.row(of_values, head, from) : chunk + (from - moved.used) * rows.vectors;
            held[move] = row[vector];
        }
        __syncthreads();
#pragma unroll
        for (int move = 0; move < tile_moves; ++move) {
            const int i = tile + Part::row(move);
            if (i >= moved.count || vector >= rows.vectors) continue;
            rows.row(of_values, head, moved.first + i)[vector] = held[move];
        }
    }
}

// ---- drop

// Returns the rank that becomes rank `survivor` once `dropped` are removed.
__device__ int64_t survivor_rank(const uint32_t* dropped, int32_t count, int64_t survivor)
{
    int32_t low = 0, high = count; // bounds of the number of dropped ranks below the result
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (dropped[middle] <= survivor + middle)
            low = middle + 1;
        else
            high = middle;
    }
    return survivor + low;
}

// One block drops ranks from one list. `rows` temporarily holds the rows of the dropped ranks.
__global__ void __launch_bounds__(block_threads)
    drop_kernel(uint32_t* orders, int64_t order_stride, SentRanks sent, uint32_t* all_rows)
{
    const ListRanks drop = sent.lists[blockIdx.x];
    if (drop.count == 0) return;
    const int thread = static_cast<int>(threadIdx.x);
    uint32_t* order = orders + blockIdx.x * order_stride;
    const uint32_t* dropped = sent.ranks + drop.begin;
    uint32_t* rows = all_rows + drop.begin;
    for (int i = thread; i < drop.count; i += block_threads)
        rows[i] = order[dropped[i]];
    __syncthreads();
    const int survivors = drop.used - drop.count;
    for (int tile = drop.first; tile < survivors; tile += block_threads * tile_moves) {
        uint32_t held[tile_moves];
#pragma unroll
        for (int move = 0; move < tile_moves; ++move) {
            const int survivor = tile + thread + move * block_threads;
            if (survivor < survivors) held[move] = order[survivor_rank(dropped, drop.count, survivor)];
        }
        __syncthreads();
#pragma unroll
        for (int move = 0; move < tile_moves; ++move) {
            const int survivor = tile + thread + move * block_threads;
            if (survivor < survivors) order[survivor] = held[move];
        }
    }
    __syncthreads();
    for (int i = thread; i < drop.count; i += block_threads)
        order[freed_row_index(dropped, drop.count, drop.used, i)] = rows[i];
}

// ---- defragment and gather

// Finds the first rank of each list with order[rank] != rank; `used` if there is none. One block per list.
__global__ void __launch_bounds__(block_threads)
    first_displaced_kernel(const uint32_t* orders, int64_t order_stride, const int32_t* used, int32_t* first)
{
    __shared__ int32_t least[block_threads];
    const int thread = static_cast<int>(threadIdx.x);
    const uint32_t* order = orders + blockIdx.x * order_stride;
    int32_t found = used[blockIdx.x];
    for (int32_t rank = thread; rank < found; rank += block_threads)
        if (order[rank] != static_cast<uint32_t>(rank)) found = rank;
    least[thread] = found;
    __syncthreads();
    for (int reach = block_threads / 2; reach > 0; reach /= 2) {
        if (thread < reach && least[thread + reach] < least[thread]) least[thread] = least[thread + reach];
        __syncthreads();
    }
    if (thread == 0) first[blockIdx.x] = least[0];
}

constexpr int gathered_rows_per_block = 64;

// The ranks of a list that a block copies; empty if end <= first.
struct RankTile {
    int32_t first, end;
};

__device__ RankTile rank_tile(int32_t used, int32_t first_displaced)
{
    const int32_t first = static_cast<int32_t>(blockIdx.x) * gathered_rows_per_block;
    const int32_t end = first + gathered_rows_per_block;
    return {first > first_displaced ? first : first_displaced, end < used ? end : used};
}

// Copies rows of lists head_from + blockIdx.z to gathered [lists, 2, stride] in rank order, from rank first[head]
// on; `first` null: all ranks.
template<class Vector>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(PagedRows<Vector> rows, const uint32_t* orders, int64_t order_stride, const int32_t* used,
                  const int32_t* first, int64_t head_from, Vector* gathered, int64_t stride)
{
    const bool of_values = blockIdx.y == 1;
    const int64_t head = head_from + blockIdx.z;
    const RankTile tile = rank_tile(used[head], first ? first[head] : 0);
    const uint32_t* order = orders + head * order_stride + tile.first;
    Vector* to = gathered + ((blockIdx.z * 2 + blockIdx.y) * stride + tile.first) * rows.vectors;
    const int count = (tile.end - tile.first) * rows.vectors;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads)
        to[i] = rows.row(of_values, head, order[i / rows.vectors])[i % rows.vectors];
}

// Writes rows that gather_kernel gathered to rows [first, used). One block per 64 ranks, keys or values, and list;
// a thread copies every 256th vector.
template<class Vector>
__global__ void __launch_bounds__(block_threads)
    put_kernel(PagedRows<Vector> rows, const int32_t* used, const int32_t* first, int64_t head_from,
               const Vector* gathered, int64_t stride)
{
    const bool of_values = blockIdx.y == 1;
    const int64_t head = head_from + blockIdx.z;
    const RankTile tile = rank_tile(used[head], first[head]);
    const Vector* from = gathered + ((blockIdx.z * 2 + blockIdx.y) * stride + tile.first) * rows.vectors;
    const int count = (tile.end - tile.first) * rows.vectors;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads)
        rows.row(of_values, head, tile.first + i / rows.vectors)[i % rows.vectors] = from[i];
}

// Sets order[rank] = rank from first[list] on. List blockIdx.y; its blocks share the ranks, and a thread sets every
// (gridDim.x * 256)th of them.
__global__ void __launch_bounds__(block_threads)
    identity_kernel(uint32_t* orders, int64_t order_stride, const int32_t* first)
{
    uint32_t* order = orders + blockIdx.y * order_stride;
    for (int64_t rank = first[blockIdx.y] + static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x;
         rank < order_stride; rank += static_cast<int64_t>(gridDim.x) * block_threads)
        order[rank] = static_cast<uint32_t>(rank);
}

unsigned blocks_of(int64_t count, int64_t per_block)
{
    return static_cast<unsigned>((count + per_block - 1) / per_block);
}

// ---- compact of quantised lists

// Two threads move one Q8_0 block of a row, 32 bytes and a scale; rows from the staging buffer are quantised on
// the way.
constexpr int threads_per_q8_block = 2, elements_each = scaled_elements / threads_per_q8_block;
constexpr int q8_blocks_at_once = block_threads / threads_per_q8_block;

struct HalfBlock {
    Bytes16 bytes;
    uint16_t scale;
};

__device__ inline HalfBlock load_half(const KvRow& row, int q8_block, int half)
{
    const std::byte* bytes = row.elements + q8_block * scaled_elements + half * elements_each;
    return {*reinterpret_cast<const Bytes16*>(bytes), reinterpret_cast<const uint16_t*>(row.scales)[q8_block]};
}

__device__ inline void store_half(const HalfBlock& held, const KvRow& row, int q8_block, int half)
{
    *reinterpret_cast<Bytes16*>(row.elements + q8_block * scaled_elements + half * elements_each) = held.bytes;
    if (half == 0) reinterpret_cast<uint16_t*>(row.scales)[q8_block] = held.scale;
}

// Quantises half a Q8_0 block of a staged row. Returns zeros unless `is_staged`. All lanes of the warp must call
// together.
template<DType staged>
__device__ inline HalfBlock quantise_half(const KvRow& row, bool is_staged, int q8_block, int half)
{
    float x[elements_each] = {};
    uint32_t largest = 0;
    if (is_staged) {
#pragma unroll
        for (int i = 0; i < elements_each; i += vector_elements<staged>)
            load_vector<staged>(row, q8_block * scaled_elements + half * elements_each + i, x + i);
#pragma unroll
        for (int i = 0; i < elements_each; ++i)
            largest = magnitude(x[i]) > largest ? magnitude(x[i]) : largest;
    }
    const uint32_t other = __shfl_xor_sync(all_lanes, largest, 1);
    HalfBlock held{{}, block_scale(other > largest ? other : largest)};
    const float step = widen_f16(held.scale);
#pragma unroll
    for (int i = 0; i < elements_each; ++i)
        held.bytes.words[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(block_byte(x[i], step))) << i % 4 * 8;
    return held;
}

// Like compact_kernel, but a thread block moves one Q8_0 block of every row.
template<DType staged>
__global__ void __launch_bounds__(block_threads) compact_quantised(CompactArgs args, SentRanks kept)
{
    const int thread = static_cast<int>(threadIdx.x), half = thread % threads_per_q8_block;
    const int q8_block = static_cast<int>(blockIdx.x);
    const bool of_values = blockIdx.y == 1;
    const int64_t head = blockIdx.z;
    const int32_t dim = args.shape.head_dim;
    const ListRanks moved = without_prefix(kept, head);
    const KvList list = list_of(args.pool, args.lists, head, dim);
    const auto kept_row = [&](int64_t row) {
        return of_values ? list.value<DType::Q8_0>(row) : list.key<DType::Q8_0>(row);
    };
    std::byte* chunk = of_values ? args.staging.values : args.staging.keys;
    for (int tile = 0; tile < moved.count; tile += q8_blocks_at_once * tile_moves) {
        HalfBlock held[tile_moves];
#pragma unroll
        for (int move = 0; move < tile_moves; ++move) {
            const int i = tile + thread / threads_per_q8_block + move * q8_blocks_at_once;
            const int64_t from = i < moved.count ? kept.ranks[moved.begin + i] : 0;
            const bool is_staged = i < moved.count && from >= moved.used;
            KvRow row;
            if (is_staged) row = staged_row<staged>(chunk, head * args.staging.capacity + from - moved.used, dim);
            held[move] = quantise_half<staged>(row, is_staged, q8_block, half);
            if (i < moved.count && !is_staged) held[move] = load_half(kept_row(from), q8_block, half);
        }
        __syncthreads();
#pragma unroll
        for (int move = 0; move < tile_moves; ++move) {
            const int i = tile + thread / threads_per_q8_block + move * q8_blocks_at_once;
            if (i < moved.count) store_half(held[move], kept_row(moved.first + i), q8_block, half);
        }
    }
}

void compact_quantised_lists(const CompactArgs& args, const SentRanks& kept, CudaContext& context)
{
    const dim3 grid(static_cast<unsigned>(args.shape.head_dim / scaled_elements), 2,
                    static_cast<unsigned>(args.shape.kv_heads));
    if (args.staging.type == DType::F16)
        launch(context, {grid, dim3(block_threads)}, compact_quantised<DType::F16>, args, kept);
    else
        launch(context, {grid, dim3(block_threads)}, compact_quantised<DType::BF16>, args, kept);
}

// Converts the elements of `count` keys and values, followed by their scales, to rows of Q8_0 blocks on the host.
void download_planes(const GatherArgs& args, int64_t count, const std::byte* gathered, CudaContext& context)
{
    const KvPage page = kv_page(args.pool.type, args.shape.head_dim);
    std::vector<std::byte> planes(static_cast<size_t>(2 * count * (page.element_bytes + page.scale_bytes)));
    check(cudaMemcpyAsync(planes.data(), gathered, planes.size(), cudaMemcpyDeviceToHost, context.stream()));
    context.finish();
    const std::byte* elements = planes.data();
    const std::byte* scales = elements + 2 * count * page.element_bytes;
    join_rows(page, elements, scales, count, args.keys);
    join_rows(page, elements + count * page.element_bytes, scales + count * page.scale_bytes, count, args.values);
}

// Defragments lists [from, from + count) of a layer.
template<class Vector>
void defragment_lists(const DefragmentArgs& args, CudaContext& context, const int32_t* used, const int32_t* first,
                      std::byte* scratch, int64_t max_used, int64_t from, int64_t count, Plane plane)
{
    const auto rows = paged_rows<Vector>(args.shape, args.pool, args.lists, plane);
    const Launch shape{dim3(blocks_of(max_used, gathered_rows_per_block), 2, static_cast<unsigned>(count)),
                       dim3(block_threads)};
    auto* gathered = reinterpret_cast<Vector*>(scratch);
    launch(context, shape, gather_kernel<Vector>, rows, args.lists.order, args.lists.order_stride, used, first,
           from, gathered, max_used);
    launch(context, shape, put_kernel<Vector>, rows, used, first, from, gathered, max_used);
}

// Sends the ranks that have to move; no ranks if none has to.
SentRanks sent_ranks(const CompactArgs& args, CudaContext& context)
{
    static thread_local RankPacker packer;
    const int64_t heads = args.shape.kv_heads;
    packer.start(heads);
    for (int64_t head = 0; head < heads; ++head) {
        const uint32_t* kept = args.kept + head * args.kept_stride;
        const int32_t count = args.kept_count[head], used = args.lists.used[head];
        const int32_t first = in_place(kept, std::min(count, used)); // staged rows always move
        packer.add(head, first, used, {kept + first, kept + count});
    }
    return packer.count() == 0 ? SentRanks{} : packer.send(context, ScratchUse::MovedRows);
}

SentRanks device_ranks(const CompactArgs& args, CudaContext& context)
{
    static thread_local std::vector<ListRanks> lists;
    lists.clear();
    for (int64_t head = 0; head < args.shape.kv_heads; ++head)
        lists.push_back({static_cast<int32_t>(head * args.kept_stride), unknown_first, args.kept_count[head],
                         args.lists.used[head]});
    return {context.send_cached(std::span<const ListRanks>(lists)), args.device_kept};
}

} // namespace

void compact(const CompactArgs& args, CudaContext& context)
{
    const SentRanks kept = args.device_kept ? device_ranks(args, context) : sent_ranks(args, context);
    if (kept.lists == nullptr) return;
    if (args.pool.type == DType::Q8_0) return compact_quantised_lists(args, kept, context);
    const int64_t heads = args.shape.kv_heads;
    with_vector(row_bytes(args.pool.type, args.shape.head_dim), [&]<class Vector>(Vector) {
        const auto rows = paged_rows<Vector>(args.shape, args.pool, args.lists);
        const Staged<Vector> staged{reinterpret_cast<const Vector*>(args.staging.keys),
                                    reinterpret_cast<const Vector*>(args.staging.values), args.staging.capacity};
        const dim3 grid(blocks_of(rows.vectors, column_vectors<Vector>()), 2, static_cast<unsigned>(heads));
        launch(context, {grid, dim3(block_threads)}, compact_kernel<Vector>, rows, staged, kept);
    });
}

void drop(const DropArgs& args, CudaContext& context)
{
    static thread_local RankPacker packer;
    const int64_t heads = args.kv_heads;
    packer.start(heads);
    for (int64_t head = 0; head < heads; ++head) {
        const uint32_t* dropped = args.dropped + head * args.dropped_stride;
        const int32_t count = args.dropped_count[head];
        const int32_t first = count > 0 ? static_cast<int32_t>(dropped[0]) : 0;
        packer.add(head, first, args.lists.used[head], {dropped, dropped + count});
    }
    if (packer.count() == 0) return;
    const SentRanks sent = packer.send(context, ScratchUse::ReadRanks);
    uint32_t* rows = context.scratch<uint32_t>(ScratchUse::MovedRows, packer.count());
    launch(context, {dim3(static_cast<unsigned>(heads)), dim3(block_threads)}, drop_kernel, args.lists.order,
           args.lists.order_stride, sent, rows);
}

void defragment(const DefragmentArgs& args, CudaContext& context)
{
    const int64_t heads = args.shape.kv_heads, bytes = row_bytes(args.pool.type, args.shape.head_dim);
    const int64_t max_used = *std::max_element(args.lists.used, args.lists.used + heads);
    const int32_t* used =
        context.send_cached(std::span<const int32_t>(args.lists.used, static_cast<size_t>(heads)));
    int32_t* first = context.scratch<int32_t>(ScratchUse::ReadRanks, static_cast<size_t>(heads));
    const dim3 threads(block_threads);
    launch(context, {dim3(static_cast<unsigned>(heads)), threads}, first_displaced_kernel, args.lists.order,
           args.lists.order_stride, used, first);
    if (max_used > 0) {
        const auto list_bytes = static_cast<size_t>(2 * max_used * bytes);
        const int64_t at_once = std::clamp(static_cast<int64_t>(most_scratch / list_bytes), int64_t{1}, heads);
        auto* scratch =
            context.scratch<std::byte>(ScratchUse::MovedRows, static_cast<size_t>(at_once) * list_bytes);
        for (int64_t from = 0; from < heads; from += at_once)
            for_planes(args.shape, args.pool, [&](Plane plane, int64_t row_bytes) {
                with_vector(row_bytes, [&]<class Vector>(Vector) {
                    defragment_lists<Vector>(args, context, used, first, scratch, max_used, from,
                                             std::min(at_once, heads - from), plane);
                });
            });
    }
    constexpr int64_t ranks_per_block = 8 * block_threads;
    const dim3 grid(blocks_of(args.lists.order_stride, ranks_per_block), static_cast<unsigned>(heads));
    launch(context, {grid, threads}, identity_kernel, args.lists.order, args.lists.order_stride, first);
}

namespace {

// Gathers the keys, then the values of a list in rank order, in scratch. REQUIRES: the list is not empty.
const std::byte* gather_rows(const GatherArgs& args, CudaContext& context)
{
    const int64_t count = args.lists.used[args.head];
    const int64_t row = row_bytes(args.pool.type, args.shape.head_dim);
    const int32_t* used =
        context.send_cached(std::span<const int32_t>(args.lists.used, static_cast<size_t>(args.shape.kv_heads)));
    auto* gathered = context.scratch<std::byte>(ScratchUse::MovedRows, static_cast<size_t>(2 * count * row));
    std::byte* to = gathered;
    for_planes(args.shape, args.pool, [&](Plane plane, int64_t plane_row_bytes) {
        with_vector(plane_row_bytes, [&]<class Vector>(Vector) {
            const auto rows = paged_rows<Vector>(args.shape, args.pool, args.lists, plane);
            const Launch shape{dim3(blocks_of(count, gathered_rows_per_block), 2, 1), dim3(block_threads)};
            const int32_t* from_start = nullptr;
            launch(context, shape, gather_kernel<Vector>, rows, args.lists.order, args.lists.order_stride, used,
                   from_start, int64_t{args.head}, reinterpret_cast<Vector*>(to), count);
        });
        to += 2 * count * plane_row_bytes;
    });
    return gathered;
}

size_t gathered_bytes(const GatherArgs& args) // of the keys; the values take as many
{
    return static_cast<size_t>(args.lists.used[args.head] * row_bytes(args.pool.type, args.shape.head_dim));
}

} // namespace

void gather(const GatherArgs& args, CudaContext& context)
{
    const size_t bytes = gathered_bytes(args);
    if (bytes == 0) return;
    const std::byte* gathered = gather_rows(args, context);
    if (args.pool.type == DType::Q8_0) return download_planes(args, args.lists.used[args.head], gathered, context);
    // Copies straight into the caller's memory if it is pinned; otherwise the driver uses its own pinned buffers.
    check(cudaMemcpyAsync(args.keys, gathered, bytes, cudaMemcpyDeviceToHost, context.stream()));
    check(cudaMemcpyAsync(args.values, gathered + bytes, bytes, cudaMemcpyDeviceToHost, context.stream()));
    context.finish();
}

// All lists are gathered in the same scratch: one stream runs each copy before the next list overwrites it.
void gather_all(std::span<const GatherArgs> lists, PinnedPair& through, CudaContext& context)
{
    through.begin();
    for (const GatherArgs& args : lists) {
        const size_t bytes = gathered_bytes(args);
        if (bytes == 0) continue;
        if (args.pool.type == DType::Q8_0) { // the host joins elements and scales to blocks
            gather(args, context);
            continue;
        }
        const std::byte* gathered = gather_rows(args, context);
        through.copy(args.keys, gathered, bytes, context.stream());
        through.copy(args.values, gathered + bytes, bytes, context.stream());
    }
    through.finish();
}

} // namespace palimpsest::kernels::cuda
