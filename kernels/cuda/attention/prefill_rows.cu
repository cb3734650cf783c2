#include "kernels/cuda/attention/prefill_rows.h"

#include <algorithm>

#include "kernels/cuda/attention/kv_list.h"
#include "kernels/cuda/attention/rotate.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int rows_per_block = 8; // one warp each
constexpr float log2_e = 1.44269504f;

struct RotateWork {
    AttendArgs args; // lists.used: device memory
    int64_t qkv_width = 0;
    int32_t group = 1;
    void* queries = nullptr;
    void* keys = nullptr;
    int64_t query_stride = 0, key_stride = 0;
};

__device__ inline int64_t own_row()
{
    return static_cast<int64_t>(blockIdx.x) * rows_per_block + threadIdx.x / warp_lanes;
}

template<class Element>
__device__ inline void for_own_elements(int32_t dim, Element&& element)
{
    for (auto i = static_cast<int32_t>(threadIdx.x % warp_lanes); i < dim; i += warp_lanes)
        element(i);
}

template<DType to>
__global__ void rotate_queries(RotateWork turning)
{
    const AttendArgs& args = turning.args;
    const int64_t x = own_row(), head = blockIdx.y, row = x / turning.group;
    const int32_t dim = args.shape.head_dim;
    if (x >= turning.query_stride) return;
    const float* query = args.qkv + row * turning.qkv_width + (head * turning.group + x % turning.group) * dim;
    const int64_t position = args.rotation.keys_rotated ? row : args.lists.used[head] + row;
    const float scale = args.shape.scale * log2_e;
    const auto scaled = [&](int32_t i) { return query[i] * scale; };
    for_own_elements(dim, [&](int32_t i) {
        const float q = row < args.rows ? rotated(args.rotation.table, position, i, scaled) : 0.0f;
        store<to>(turning.queries, (head * turning.query_stride + x) * dim + i, q);
    });
}

template<DType pool, DType staged, DType to>
__global__ void rotate_keys(RotateWork turning)
{
    const AttendArgs& args = turning.args;
    const int64_t rank = own_row(), head = blockIdx.y, used = args.lists.used[head];
    const int32_t dim = args.shape.head_dim;
    const int64_t first_seen = args.window > 0 && used >= args.window ? used + 1 - args.window : 0;
    if (rank >= turning.key_stride || rank < first_seen / row_padding * row_padding) return;
    const KvList list = list_of(args.pool, args.lists, head, dim);
    const bool exists = rank >= first_seen && rank < used + args.rows, in_pool = rank < used;
    KvRow key;
    if (exists)
        key = in_pool ? list.key<pool>(rank)
                      : staged_row<staged>(args.staging.keys, head * args.staging.capacity + rank - used, dim);
    const auto element = [&](int32_t i) { return in_pool ? load<pool>(key, i) : load<staged>(key, i); };
    for_own_elements(dim, [&](int32_t i) {
        float k = 0;
        if (exists) k = args.rotation.keys_rotated ? element(i) : rotated(args.rotation.table, rank, i, element);
        store<to>(turning.keys, (head * turning.key_stride + rank) * dim + i, k);
    });
}

int64_t padded(int64_t rows)
{
    return (rows + row_padding - 1) / row_padding * row_padding;
}

template<DType pool, DType staged, DType to>
void launch_turning(const RotateWork& turning, CudaContext& context)
{
    const auto grid = [&](int64_t rows) {
        return dim3(static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block),
                    static_cast<unsigned>(turning.args.shape.kv_heads));
    };
    const dim3 block(rows_per_block * warp_lanes);
    launch(context, {grid(turning.query_stride), block}, rotate_queries<to>, turning);
    launch(context, {grid(turning.key_stride), block}, rotate_keys<pool, staged, to>, turning);
}

} // namespace

RotatedRows rotate_rows(const AttendArgs& args, DType type, CudaContext& context)
{
    const HeadShape& shape = args.shape;
    const int64_t heads = shape.kv_heads, most = *std::max_element(args.lists.used, args.lists.used + heads);
    RotateWork turning{.args = args,
                       .qkv_width = shape.qkv_width(),
                       .group = shape.group(),
                       .query_stride = padded(int64_t{args.rows} * shape.group()),
                       .key_stride = padded(most + args.rows)};
    const int64_t row_bytes = int64_t{shape.head_dim} * (type == DType::F32 ? 4 : 2);
    const int64_t query_bytes = heads * turning.query_stride * row_bytes;
    auto* memory = context.scratch<std::byte>(
        ScratchUse::RotatedKeys, static_cast<size_t>(query_bytes + heads * turning.key_stride * row_bytes));
    turning.queries = memory;
    turning.keys = memory + query_bytes;
    turning.args.lists.used = context.send_cached(std::span(args.lists.used, static_cast<size_t>(heads)));
    with_types(args.pool.type, args.staging.type, [&](auto pool, auto staged) {
        constexpr DType from = decltype(pool)::value, chunk = decltype(staged)::value;
        if (type == DType::F32) return launch_turning<from, chunk, DType::F32>(turning, context);
        launch_turning<from, chunk, chunk>(turning, context);
    });
    return {.type = type,
            .queries = turning.queries,
            .keys = turning.keys,
            .query_stride = turning.query_stride,
            .key_stride = turning.key_stride,
            .used = turning.args.lists.used,
            .dim = shape.head_dim,
            .group = shape.group(),
            .rows = args.rows,
            .window = args.window,
            .soft_cap = shape.soft_cap * log2_e};
}

} // namespace palimpsest::kernels::cuda
