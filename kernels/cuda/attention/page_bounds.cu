// Elementwise bounds of the keys of a retrieval page, which bound a query's logits on the page ("Quest", Tang et
// al. 2024, section 3.2). One block per retrieval page and KV head; a thread takes every 128th dimension.
#include <algorithm>

#include "kernels/cuda/attention/kv_list.h"
#include "kernels/cuda/attention/rotate.h"
#include "kernels/cuda/device/kernels.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int bound_threads = 128;

// `lists.used` is device memory.
template<DType type>
__global__ void bound_page(BoundPagesArgs args)
{
    const int64_t head = blockIdx.y, width = args.pages.page, used = args.lists.used[head];
    const int64_t page = args.first / width + blockIdx.x;
    if (page * width >= used || args.first >= used) return;
    const int32_t dim = args.shape.head_dim;
    const int64_t last = page * width + width < used ? page * width + width : used;
    const KvList list = list_of(args.pool, args.lists, head, dim);
    float* bounds = args.pages.bounds + (head * args.pages.page_stride + page) * 2 * dim;
    for (auto i = static_cast<int32_t>(threadIdx.x); i < dim; i += bound_threads) {
        float least = 0, greatest = 0;
        for (int64_t rank = page * width; rank < last; ++rank) {
            const KvRow key = list.key<type>(rank); // row = rank, as nothing is evicted
            const auto element = [&](int32_t j) { return load<type>(key, j); };
            const float x =
                args.rotation.keys_rotated ? element(i) : rotated(args.rotation.table, rank, i, element);
            least = rank == page * width ? x : fminf(least, x);
            greatest = rank == page * width ? x : fmaxf(greatest, x);
        }
        bounds[i] = least;
        bounds[dim + i] = greatest;
    }
}

} // namespace

void bound_pages(const BoundPagesArgs& args, CudaContext& context)
{
    const int32_t heads = args.shape.kv_heads;
    const int64_t most = *std::max_element(args.lists.used, args.lists.used + heads);
    if (most <= args.first) return;
    const int64_t pages = (most - 1) / args.pages.page + 1 - args.first / args.pages.page;
    BoundPagesArgs device = args;
    device.lists.used = context.send_cached(std::span(args.lists.used, static_cast<size_t>(heads)));
    const dim3 grid(static_cast<unsigned>(pages), static_cast<unsigned>(heads));
    with_pool_type(args.pool.type, [&](auto type) {
        launch(context, {grid, dim3(bound_threads)}, bound_page<decltype(type)::value>, device);
    });
}

} // namespace palimpsest::kernels::cuda
