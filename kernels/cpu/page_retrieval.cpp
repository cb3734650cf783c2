#include "kernels/cpu/page_retrieval.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/page_retrieval.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float Dot(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y, int64_t count)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto even = hn::Zero(d), odd = hn::Zero(d);
    int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        even = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), even);
        odd = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), odd);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    for (; i < count; ++i)
        sum += x[i] * y[i];
    return sum;
}

// Upper bounds of logits: with key elements in [l, g], the largest product with q is q l if q < 0, and q g
// otherwise. The bound of a retrieval page, averaged over the query group, is therefore one dot product of the
// page's [least, greatest] with the means of the queries' negative and positive parts. Writes these two rows to
// `parts`; `query` is scratch for one row.
HWY_INLINE void MeanParts(const DecodeAttendArgs& args, int64_t head, float* query, float* parts)
{
    const int64_t dim = args.shape.head_dim, group = args.shape.group();
    std::fill_n(parts, 2 * dim, 0.0f);
    for (int64_t g = 0; g < group; ++g) {
        std::copy_n(args.qkv + (head * group + g) * dim, dim, query);
        RotateRow(args.rotation.table, args.rotation.keys_rotated ? 0 : args.lists.used[head], query);
        for (int64_t i = 0; i < dim; ++i)
            parts[query[i] < 0 ? i : dim + i] += query[i] / static_cast<float>(group);
    }
}

// Scores retrieval pages [first, last). `scratch` holds three rows.
void ScorePages(const DecodeAttendArgs& args, int64_t head, int64_t first, int64_t last, float* scratch,
                float* scores)
{
    const PageBounds& pages = args.retrieval.pages;
    const int64_t dim = args.shape.head_dim;
    float* parts = scratch + dim;
    MeanParts(args, head, scratch, parts);
    for (int64_t page = first; page < last; ++page)
        scores[page] = Dot(pages.bounds + (head * pages.page_stride + page) * 2 * dim, parts, 2 * dim);
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(ScorePages);

namespace cpu {

namespace {
constexpr int64_t pages_per_task = 512;
}

PageSelector::PageSelector(const DecodeAttendArgs& args, CpuContext& context)
    : args_(args), context_(context), retrieves_(args.retrieval.pages.bounds != nullptr)
{
    assert(!retrieves_ || args.window == 0);
    for (int64_t head = 0; head < args.shape.kv_heads; ++head) {
        if (whole(head)) continue;
        all_whole_ = false;
        most_pages_ = std::max(most_pages_, last_page(head));
        most_ranks_ = (others() + 1) * page();
    }
    if (all_whole_) return;
    const auto heads = static_cast<size_t>(args.shape.kv_heads);
    const size_t pages = heads * static_cast<size_t>(most_pages_), ranks = heads * static_cast<size_t>(most_ranks_);
    scores_ = context.shared_scratch(ScratchUse::PageScores).get<float>(pages);
    pages_ = context.shared_scratch(ScratchUse::ReadRanks).get<uint32_t>(pages + 2 * ranks);
    ranks_ = pages_ + pages;
    rows_ = ranks_ + ranks;
    context.reserve<float>(ScratchUse::PackedRows, static_cast<size_t>(3 * args.shape.head_dim));
}

void PageSelector::choose()
{
    if (all_whole_) return;
    score_pages();
    context_.threads.run(args_.shape.kv_heads, [&](int64_t head, int) {
        if (!whole(head)) pick_pages(head);
    });
}

ReadList PageSelector::list(int64_t head) const
{
    if (whole(head)) {
        const int64_t first = first_seen(head);
        return {nullptr, args_.lists.order + head * args_.lists.order_stride + first, length(head) - first, first};
    }
    const int64_t count = length(head) - (last_page(head) - others()) * page();
    return {ranks_ + head * most_ranks_, rows_ + head * most_ranks_, count, 0};
}

void PageSelector::score_pages()
{
    const auto score = HWY_DYNAMIC_DISPATCH(ScorePages);
    const int64_t heads = args_.shape.kv_heads, parts = (most_pages_ + pages_per_task - 1) / pages_per_task;
    context_.threads.run(heads * parts, [&](int64_t task, int worker) {
        const int64_t head = task % heads, first = task / heads * pages_per_task;
        const int64_t last = std::min(first + pages_per_task, last_page(head));
        if (whole(head) || first >= last) return;
        float* scratch = context_.worker_scratch(worker, ScratchUse::PackedRows)
                             .get<float>(static_cast<size_t>(3 * args_.shape.head_dim));
        score(args_, head, first, last, scratch, scores_ + head * most_pages_);
    });
}

void PageSelector::pick_pages(int64_t head)
{
    const float* scores = scores_ + head * most_pages_;
    const auto better = [&](uint32_t a, uint32_t b) {
        return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
    };
    uint32_t* pages = pages_ + head * most_pages_;
    std::iota(pages, pages + last_page(head), 0u);
    std::nth_element(pages, pages + others(), pages + last_page(head), better);
    std::sort(pages, pages + others());

    uint32_t *ranks = ranks_ + head * most_ranks_, *rows = rows_ + head * most_ranks_;
    const uint32_t* order = args_.lists.order + head * args_.lists.order_stride;
    const auto take = [&](int64_t taken) {
        const int64_t first = taken * page(), count = std::min(page(), length(head) - first);
        std::iota(ranks, ranks + count, static_cast<uint32_t>(first));
        std::copy_n(order + first, count, rows);
        ranks += count;
        rows += count;
    };
    for (int64_t i = 0; i < others(); ++i)
        take(pages[i]);
    take(last_page(head));
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
