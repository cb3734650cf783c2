// All operations that move rows of keys and values: into the staging buffer, from there into lists, within lists,
// and out of lists into a copy.
#include "kernels/cpu/kernels.h"

#include <cstring>
#include <utility>

#include "kernels/cpu/kv_list.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/kv_rows.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/kv_quantise-inl.h"
#include "kernels/cpu/rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {

// Stages chunk rows [first, last) of one KV head. `scratch` holds one row.
void StageRows(const StageArgs& args, int64_t head, int64_t first, int64_t last, float* scratch)
{
    const HeadShape& shape = args.shape;
    const int64_t dim = shape.head_dim, bytes = row_bytes(args.staging.type, dim);
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
        NarrowRow(args.staging.type, key, args.staging.keys + at, dim);
        NarrowRow(args.staging.type, values + row * shape.qkv_width(), args.staging.values + at, dim);
    }
}

// Quantises `count` staged rows into contiguous rows of a Q8_0 pool. `scratch` holds one row.
void QuantiseRows(DType type, const std::byte* from, int64_t count, int64_t dim, KvRow to, float* scratch)
{
    const KvPage page = kv_page(DType::Q8_0, dim);
    for (int64_t i = 0; i < count; ++i, from += row_bytes(type, dim)) {
        WidenRow(type, from, scratch, dim);
        NarrowRow(DType::Q8_0, scratch, to, dim);
        to.elements += page.element_bytes, to.scales += page.scale_bytes;
    }
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(StageRows);
HWY_EXPORT(QuantiseRows);

namespace cpu {
namespace {

constexpr int64_t rows_per_task = 64;

void move_rows(const KvPage& page, const KvRow& from, const KvRow& to, int64_t count)
{
    std::memmove(to.elements, from.elements, static_cast<size_t>(count * page.element_bytes));
    std::memmove(to.scales, from.scales, static_cast<size_t>(count * page.scale_bytes));
}

// Moves rows [from, from + count) of one list to [to, to + count). REQUIRES: to <= from.
void move_rows(const KvList& list, int64_t from, int64_t to, int64_t count)
{
    while (count > 0) {
        const int64_t n = KvList::piece(to, KvList::piece(from, count));
        move_rows(list.page(), list.key(from), list.key(to), n);
        move_rows(list.page(), list.value(from), list.value(to), n);
        from += n, to += n, count -= n;
    }
}

// Copies staged rows [from, from + count) of one head to rows [to, to + count) of its list. `scratch` holds one
// row.
void append_staged_rows(const CompactArgs& args, const KvList& list, int64_t head, int64_t from, int64_t to,
                        int64_t count, float* scratch)
{
    const auto quantise = HWY_DYNAMIC_DISPATCH(QuantiseRows);
    const Staging& staging = args.staging;
    const int64_t dim = args.shape.head_dim, bytes = row_bytes(staging.type, dim);
    int64_t at = (head * staging.capacity + from) * bytes;
    for (int64_t n = 0; count > 0; at += n * bytes, to += n, count -= n) {
        n = KvList::piece(to, count);
        if (args.pool.type == DType::Q8_0) {
            quantise(staging.type, staging.keys + at, n, dim, list.key(to), scratch);
            quantise(staging.type, staging.values + at, n, dim, list.value(to), scratch);
        } else {
            std::memcpy(list.key(to).elements, staging.keys + at, static_cast<size_t>(n * bytes));
            std::memcpy(list.value(to).elements, staging.values + at, static_cast<size_t>(n * bytes));
        }
    }
}

// A copy of `count` rows of keys and values outside of the pool; elements and scales are contiguous planes.
struct ScratchRows {
    ScratchRows(const KvPage& page, std::byte* memory, int64_t count)
        : keys{memory, memory + count * page.element_bytes}, values{memory + count * (page.element_bytes +
                                                                                      page.scale_bytes),
                                                                    memory + count * (2 * page.element_bytes +
                                                                                      page.scale_bytes)}
    {
    }
    KvRow keys, values;
};

KvRow row_of(const KvPage& page, const KvRow& first, int64_t row)
{
    return {first.elements + row * page.element_bytes, first.scales + row * page.scale_bytes};
}

// Copies ranks [first, last) of a list out of the pool, in rank order.
void take_ranks(const KvList& list, const uint32_t* order, int64_t first, int64_t last, const ScratchRows& to)
{
    for (int64_t rank = first; rank < last; ++rank) {
        move_rows(list.page(), list.key(order[rank]), row_of(list.page(), to.keys, rank - first), 1);
        move_rows(list.page(), list.value(order[rank]), row_of(list.page(), to.values, rank - first), 1);
    }
}

// Copies the rows of `from` to rows [to, to + count) of a list.
void put_rows(const KvList& list, const ScratchRows& from, int64_t to, int64_t count)
{
    for (int64_t i = 0, n = 0; i < count; i += n) {
        n = KvList::piece(to + i, count - i);
        move_rows(list.page(), row_of(list.page(), from.keys, i), list.key(to + i), n);
        move_rows(list.page(), row_of(list.page(), from.values, i), list.value(to + i), n);
    }
}

// Length of the run of consecutive numbers that starts at kept[i] and does not cross `limit`.
int64_t run_length(const uint32_t* kept, int64_t i, int64_t count, int64_t limit)
{
    int64_t n = 1;
    while (i + n < count && kept[i + n] == kept[i] + static_cast<uint32_t>(n) && kept[i + n] != limit)
        ++n;
    return n;
}

// `scratch` holds one row.
void compact_head(const CompactArgs& args, int64_t head, float* scratch)
{
    const KvList list(args.pool, args.lists, head, args.shape.head_dim);
    const uint32_t* kept = args.kept + head * args.kept_stride;
    const int64_t used = args.lists.used[head], count = args.kept_count[head];
    for (int64_t i = 0; i < count;) {
        const int64_t from = kept[i], n = run_length(kept, i, count, used);
        if (from >= used) {
            append_staged_rows(args, list, head, from - used, i, n, scratch);
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
        // The usual case: one token is evicted per decoded token. One memmove is enough.
        const uint32_t row = order[dropped[0]];
        const int64_t behind = used - dropped[0] - 1;
        std::memmove(order + dropped[0], order + dropped[0] + 1, static_cast<size_t>(behind) * sizeof(uint32_t));
        order[used - 1] = row;
        return;
    }
    // order[to, rank) holds only rows of dropped ranks. Swapping therefore keeps the other ranks in order, and
    // `order` remains a permutation.
    int64_t to = dropped[0], next = 0;
    for (int64_t rank = to; rank < used; ++rank) {
        if (next < count && dropped[next] == rank)
            ++next;
        else
            std::swap(order[to++], order[rank]);
    }
}

// `scratch` holds the list's keys and values.
void defragment_head(const DefragmentArgs& args, int64_t head, std::byte* scratch)
{
    const KvList list(args.pool, args.lists, head, args.shape.head_dim);
    uint32_t* order = args.lists.order + head * args.lists.order_stride;
    const int64_t used = args.lists.used[head];
    int64_t first = 0;
    while (first < used && order[first] == first)
        ++first;
    if (first < used) {
        const ScratchRows aside(list.page(), scratch, used - first);
        take_ranks(list, order, first, used, aside);
        put_rows(list, aside, first, used - first);
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
    const auto dim = static_cast<size_t>(args.shape.head_dim);
    context.reserve<float>(ScratchUse::PackedRows, dim);
    context.threads.run(args.shape.kv_heads, [&](int64_t head, int worker) {
        compact_head(args, head, context.worker_scratch(worker, ScratchUse::PackedRows).get<float>(dim));
    });
}

void drop(const DropArgs& args)
{
    for (int64_t head = 0; head < args.kv_heads; ++head)
        drop_head(args, head);
}

void defragment(const DefragmentArgs& args, CpuContext& context)
{
    const int32_t most = *std::max_element(args.lists.used, args.lists.used + args.shape.kv_heads);
    const auto bytes = static_cast<size_t>(2 * most * row_bytes(args.pool.type, args.shape.head_dim));
    context.reserve<std::byte>(ScratchUse::PackedKeys, bytes);
    context.threads.run(args.shape.kv_heads, [&](int64_t head, int worker) {
        defragment_head(args, head, context.worker_scratch(worker, ScratchUse::PackedKeys).get<std::byte>(bytes));
    });
}

void gather(const GatherArgs& args)
{
    const KvList list(args.pool, args.lists, args.head, args.shape.head_dim);
    const uint32_t* order = args.lists.order + args.head * args.lists.order_stride;
    const int64_t bytes = row_bytes(args.pool.type, args.shape.head_dim);
    for (int64_t rank = 0; rank < args.lists.used[args.head]; ++rank) {
        const KvRow key = list.key(order[rank]), value = list.value(order[rank]);
        join_rows(list.page(), key.elements, key.scales, 1, args.keys + rank * bytes);
        join_rows(list.page(), value.elements, value.scales, 1, args.values + rank * bytes);
    }
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
