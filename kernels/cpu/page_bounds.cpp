// Elementwise bounds of the keys in a retrieval page, from which an upper bound of a query's logits is computed
// ("Quest", Tang et al. 2024, section 3.2).
#include "kernels/cpu/kernels.h"

#include <algorithm>

#include "kernels/cpu/kv_list.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/page_bounds.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/kv_quantise-inl.h"
#include "kernels/cpu/rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// least = min(least, key), greatest = max(greatest, key).
HWY_INLINE void UpdateBounds(const float* HWY_RESTRICT key, int64_t dim, float* HWY_RESTRICT least,
                             float* HWY_RESTRICT greatest)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= dim; i += lanes) {
        const auto x = hn::LoadU(d, key + i);
        hn::StoreU(hn::Min(hn::LoadU(d, least + i), x), d, least + i);
        hn::StoreU(hn::Max(hn::LoadU(d, greatest + i), x), d, greatest + i);
    }
    for (; i < dim; ++i) {
        least[i] = std::min(least[i], key[i]);
        greatest[i] = std::max(greatest[i], key[i]);
    }
}

// `key` is scratch for one row as f32.
void BoundPage(const BoundPagesArgs& args, int64_t head, int64_t page, float* key)
{
    const int64_t dim = args.shape.head_dim;
    const KvList list(args.pool, args.lists, head, args.shape.head_dim);
    float* least = args.pages.bounds + (head * args.pages.page_stride + page) * 2 * dim;
    float* greatest = least + dim;
    const int64_t first = page * args.pages.page;
    const int64_t last = std::min<int64_t>(first + args.pages.page, args.lists.used[head]);
    for (int64_t rank = first; rank < last; ++rank) {
        WidenRow(args.pool.type, list.key(rank), key, dim);
        if (!args.rotation.keys_rotated) RotateRow(args.rotation.table, rank, key);
        if (rank == first) {
            std::copy_n(key, dim, least);
            std::copy_n(key, dim, greatest);
        } else {
            UpdateBounds(key, dim, least, greatest);
        }
    }
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(BoundPage);

namespace cpu {

void bound_pages(const BoundPagesArgs& args, CpuContext& context)
{
    const int64_t heads = args.shape.kv_heads, page = args.pages.page, first = args.first / page;
    const int64_t most = *std::max_element(args.lists.used, args.lists.used + heads);
    if (most <= args.first) return;
    const auto bound_page = HWY_DYNAMIC_DISPATCH(BoundPage);
    const auto key_floats = static_cast<size_t>(args.shape.head_dim);
    context.reserve<float>(ScratchUse::PackedRows, key_floats);
    context.threads.run(heads * ((most - 1) / page + 1 - first), [&](int64_t task, int worker) {
        const int64_t head = task % heads, at = first + task / heads;
        if (std::max(at * page, args.first) >= args.lists.used[head]) return;
        float* key = context.worker_scratch(worker, ScratchUse::PackedRows).get<float>(key_floats);
        bound_page(args, head, at, key);
    });
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
