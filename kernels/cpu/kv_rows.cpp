// Everything that moves rows of keys and values: into staging, from staging into lists, and within lists.
#include "kernels/cpu/kernels.h"

#include <cstring>
#include <utility>

#include "kernels/cpu/kv_list.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/kv_rows.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/kv_convert-inl.h"
#include "kernels/cpu/rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

// Chunk rows [first, last) of one KV head. `scratch` holds one row.
void StageRows(const StageArgs& args, int64_t head, int64_t first, int64_t last, float* scratch)
{
    const HeadShape& shape = args.shape;
    const int64_t dim = shape.head_dim, bytes = row_bytes(args.type, dim);
    const float* keys = args.qkv + (shape.query_heads + head) * dim;
    const float* values = keys + shape.kv_heads * dim;
    for (int64_t row = first; row < last; ++row) {
        const float* key = keys + row * shape.qkv_width();
        if (args.rotation.keys_rotated) {
            std::memcpy(scratch, key, static_cast<size_t>(dim) * sizeof(float));
            RotateRow(args.rotation.table, row, scratch);
            key = scratch;
        }
        const int64_t at = (head * args.staging.capacity + row) * bytes;
        NarrowRow(args.type, key, args.staging.keys + at, dim);
        NarrowRow(args.type, values + row * shape.qkv_width(), args.staging.values + at, dim);
    }
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(StageRows);

namespace cpu {
namespace {

constexpr int64_t rows_per_task = 64;

// Rows [from, from + count) of one list to [to, to + count). REQUIRES: to <= from.
void move_rows(const KvList& list, int64_t from, int64_t to, int64_t count)
{
    while (count > 0) {
        const int64_t n = KvList::piece(to, KvList::piece(from, count));
        const auto bytes = static_cast<size_t>(n * list.bytes_per_row());
        std::memmove(list.key(to), list.key(from), bytes);
        std::memmove(list.value(to), list.value(from), bytes);
        from += n, to += n, count -= n;
    }
}

// Rows in one piece of memory (staging, or a gathered copy) to rows [to, to + count) of a list.
void put_rows(const KvList& list, const std::byte* keys, const std::byte* values, int64_t to, int64_t count)
{
    while (count > 0) {
        const int64_t n = KvList::piece(to, count), bytes = n * list.bytes_per_row();
        std::memcpy(list.key(to), keys, static_cast<size_t>(bytes));
        std::memcpy(list.value(to), values, static_cast<size_t>(bytes));
        keys += bytes, values += bytes, to += n, count -= n;
    }
}

// Ranks [first, last) of a list, in rank order.
void take_ranks(const KvList& list, const uint32_t* order, int64_t first, int64_t last, std::byte* keys,
                std::byte* values)
{
    const int64_t bytes = list.bytes_per_row();
    for (int64_t rank = first; rank < last; ++rank, keys += bytes, values += bytes) {
        std::memcpy(keys, list.key(order[rank]), static_cast<size_t>(bytes));
        std::memcpy(values, list.value(order[rank]), static_cast<size_t>(bytes));
    }
}

// Length of the run of consecutive numbers that starts at kept[i] and stays on one side of `limit`.
int64_t run_length(const uint32_t* kept, int64_t i, int64_t count, int64_t limit)
{
    int64_t n = 1;
    while (i + n < count && kept[i + n] == kept[i] + static_cast<uint32_t>(n) && kept[i + n] != limit)
        ++n;
    return n;
}

void compact_head(const CompactArgs& args, int64_t head)
{
    const KvList list(args.pool, args.lists, head, args.shape.head_dim);
    const uint32_t* kept = args.kept + head * args.kept_stride;
    const int64_t used = args.lists.used[head], count = args.kept_count[head];
    for (int64_t i = 0; i < count;) {
        const int64_t from = kept[i], n = run_length(kept, i, count, used);
        if (from >= used) {
            const int64_t at = (head * args.staging.capacity + from - used) * list.bytes_per_row();
            put_rows(list, args.staging.keys + at, args.staging.values + at, i, n);
        } else if (from != i) {
            move_rows(list, from, i, n);
        }
        i += n;
    }
}

void drop_head(const DropArgs& args, int64_t head)
{
    uint32_t* order = args.lists.order + head * args.lists.order_stride;
    const uint32_t* dropped = args.dropped + head * args.dropped_stride;
    const int64_t used = args.lists.used[head], count = args.dropped_count[head];
    if (count == 0) return;
    if (count == 1) {
        // One token leaves per decoded token: the common case is one memmove.
        const uint32_t row = order[dropped[0]];
        const int64_t behind = used - dropped[0] - 1;
        std::memmove(order + dropped[0], order + dropped[0] + 1, static_cast<size_t>(behind) * sizeof(uint32_t));
        order[used - 1] = row;
        return;
    }
    // Between `to` and `rank` lie rows of dropped ranks only, so swapping keeps both the order and the permutation.
    int64_t to = dropped[0], next = 0;
    for (int64_t rank = to; rank < used; ++rank) {
        if (next < count && dropped[next] == rank)
            ++next;
        else
            std::swap(order[to++], order[rank]);
    }
}

// `scratch` holds the list's keys and values.
void straighten_head(const StraightenArgs& args, int64_t head, std::byte* scratch)
{
    const KvList list(args.pool, args.lists, head, args.shape.head_dim);
    uint32_t* order = args.lists.order + head * args.lists.order_stride;
    const int64_t used = args.lists.used[head];
    int64_t first = 0;
    while (first < used && order[first] == first)
        ++first;
    if (first < used) {
        const int64_t bytes = (used - first) * list.bytes_per_row();
        take_ranks(list, order, first, used, scratch, scratch + bytes);
        put_rows(list, scratch, scratch + bytes, first, used - first);
    }
    for (int64_t rank = first; rank < args.lists.order_stride; ++rank)
        order[rank] = static_cast<uint32_t>(rank);
}

} // namespace

void stage(const StageArgs& args, CpuContext& context)
{
    const auto stage_rows = HWY_DYNAMIC_DISPATCH(StageRows);
    const int64_t blocks = (args.rows + rows_per_task - 1) / rows_per_task;
    const auto dim = static_cast<size_t>(args.shape.head_dim);
    context.reserve<float>(ScratchUse::PackedRows, dim);
    context.threads.run(args.shape.kv_heads * blocks, [&](int64_t task, int worker) {
        const int64_t first = task % blocks * rows_per_task;
        float* row = context.worker_scratch(worker, ScratchUse::PackedRows).get<float>(dim);
        stage_rows(args, task / blocks, first, std::min<int64_t>(first + rows_per_task, args.rows), row);
    });
}

void compact(const CompactArgs& args, CpuContext& context)
{
    context.threads.run(args.shape.kv_heads, [&](int64_t head, int) { compact_head(args, head); });
}

void drop(const DropArgs& args)
{
    for (int64_t head = 0; head < args.kv_heads; ++head)
        drop_head(args, head);
}

void straighten(const StraightenArgs& args, CpuContext& context)
{
    const int32_t most = *std::max_element(args.lists.used, args.lists.used + args.shape.kv_heads);
    const auto bytes = static_cast<size_t>(2 * most * row_bytes(args.pool.type, args.shape.head_dim));
    context.reserve<std::byte>(ScratchUse::PackedKeys, bytes);
    context.threads.run(args.shape.kv_heads, [&](int64_t head, int worker) {
        straighten_head(args, head, context.worker_scratch(worker, ScratchUse::PackedKeys).get<std::byte>(bytes));
    });
}

void gather(const GatherArgs& args)
{
    const KvList list(args.pool, args.lists, args.head, args.shape.head_dim);
    const uint32_t* order = args.lists.order + args.head * args.lists.order_stride;
    take_ranks(list, order, 0, args.lists.used[args.head], args.keys, args.values);
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
