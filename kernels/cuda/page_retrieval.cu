#include "kernels/cuda/page_retrieval.h"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/block_select.h"
#include "kernels/cuda/ordered_bits.h"
#include "kernels/cuda/rotate.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_lanes;
constexpr int pages_per_warp = 4;
constexpr int pages_per_block = warps * pages_per_warp;

struct PageChoice {
    DecodeAttendArgs args; // lists.used: device memory
    ReadPlan plan;
    int32_t group = 1;
    float* scores = nullptr;   // [kv_heads, page_stride]
    uint32_t* pages = nullptr; // the same: those chosen, ascending
    int64_t page_stride = 0;
    uint32_t* ranks = nullptr; // [kv_heads, rank_stride]
    int64_t rank_stride = 0;
};

// max(q l, q g) for l <= g is q l where q < 0 and q g elsewhere, so the mean of a page's bounds over the group is
// one product of [least, greatest] with the means of the queries' negative and positive parts: parts [2, head_dim].
__device__ inline void mean_parts(const PageChoice& choice, int64_t head, float* parts)
{
    const DecodeAttendArgs& args = choice.args;
    const int32_t dim = args.shape.head_dim;
    const int64_t position = args.rotation.keys_rotated ? 0 : args.lists.used[head];
    for (auto i = static_cast<int32_t>(threadIdx.x); i < dim; i += threads) {
        float negative = 0, positive = 0;
        for (int32_t g = 0; g < choice.group; ++g) {
            const float* query = args.qkv + (head * choice.group + g) * dim;
            const float q = turned(args.rotation.table, position, i, [&](int32_t j) { return query[j]; });
            (q < 0 ? negative : positive) += q / static_cast<float>(choice.group);
        }
        parts[i] = negative;
        parts[dim + i] = positive;
    }
}

__global__ void score_pages(PageChoice choice)
{
    const int64_t head = blockIdx.y;
    const int32_t used = choice.args.lists.used[head], dim = choice.args.shape.head_dim;
    const int32_t first = static_cast<int32_t>(blockIdx.x) * pages_per_block, last = choice.plan.last_page(used);
    if (choice.plan.whole(used) || first >= last) return;
    float* parts = dynamic_shared<float>();
    mean_parts(choice, head, parts);
    __syncthreads();
    const auto lane = static_cast<int32_t>(threadIdx.x) % warp_lanes;
    for (int32_t i = 0; i < pages_per_warp; ++i) {
        const int32_t page = first + static_cast<int32_t>(threadIdx.x) / warp_lanes + i * warps;
        const PageBounds& known = choice.args.retrieval.pages;
        const float* bounds = known.bounds + (head * known.page_stride + page) * 2 * dim;
        float score = 0;
        for (int32_t j = lane; page < last && j < 2 * dim; j += warp_lanes)
            score = fmaf(bounds[j], parts[j], score);
        score = warp_sum(score);
        if (lane == 0 && page < last) choice.scores[head * choice.page_stride + page] = score;
    }
}

template<class Counts>
__device__ inline uint32_t count_pages(int32_t pages, Counts&& counts)
{
    uint32_t count = 0;
    for (auto page = static_cast<int32_t>(threadIdx.x); page < pages; page += threads)
        count += counts(page) ? 1 : 0;
    return block_sum<threads>(count);
}

// Writes the pages that are `chosen`, ascending.
template<class Chosen>
__device__ inline void list_pages(int32_t pages, Chosen&& chosen, uint32_t* to)
{
    const int32_t each = (pages + threads - 1) / threads, first = static_cast<int32_t>(threadIdx.x) * each;
    const int32_t last = first + each < pages ? first + each : pages;
    uint32_t count = 0;
    for (int32_t page = first; page < last; ++page)
        count += chosen(page) ? 1 : 0;
    uint32_t at = block_sum_before<threads>(count);
    for (int32_t page = first; page < last; ++page)
        if (chosen(page)) to[at++] = static_cast<uint32_t>(page);
}

__device__ inline void list_ranks(const PageChoice& choice, int64_t head, int32_t used, const uint32_t* pages)
{
    const auto width = static_cast<uint32_t>(choice.plan.page);
    const int32_t count = choice.plan.count(used);
    for (auto i = static_cast<int32_t>(threadIdx.x); i < count; i += threads) {
        const int32_t at = i / choice.plan.page;
        const uint32_t page =
            at < choice.plan.others ? pages[at] : static_cast<uint32_t>(choice.plan.last_page(used));
        choice.ranks[head * choice.rank_stride + i] = page * width + static_cast<uint32_t>(i) % width;
    }
}

// A block per KV head finds the score of the last page that gets in, then the first pages that have it.
__global__ void pick_pages(PageChoice choice)
{
    const int64_t head = blockIdx.x;
    const int32_t used = choice.args.lists.used[head];
    if (choice.plan.whole(used)) return;
    const int32_t pages = choice.plan.last_page(used);
    const auto others = static_cast<uint32_t>(choice.plan.others);
    const float* scores = choice.scores + head * choice.page_stride;
    const auto score = [&](int32_t page) { return ordered_bits(scores[page]); };
    const uint32_t edge = largest(31, [&](uint32_t t) {
        return count_pages(pages, [&](int32_t page) { return score(page) >= t; }) >= others;
    });
    const uint32_t better = count_pages(pages, [&](int32_t page) { return score(page) > edge; });
    const auto first_with_edge = static_cast<int32_t>(largest(30, [&](uint32_t limit) {
        const auto before = [&](int32_t page) {
            return score(page) == edge && static_cast<uint32_t>(page) < limit;
        };
        return better + count_pages(pages, before) <= others;
    }));
    uint32_t* chosen = choice.pages + head * choice.page_stride;
    list_pages(
        pages,
        [&](int32_t page) {
            return others > 0 && (score(page) > edge || (score(page) == edge && page < first_with_edge));
        },
        chosen);
    __syncthreads();
    list_ranks(choice, head, used, chosen);
}

// A block per query head.
__global__ void settle_top_mass(TopMass args)
{
    const int64_t query_head = blockIdx.x;
    float* weights = args.weights + query_head * args.stride;
    const int32_t count = args.plan.count(args.used[query_head / args.group]);
    const auto own = [&](auto&& use) {
        for (auto i = static_cast<int32_t>(threadIdx.x); i < count; i += threads)
            use(i);
    };
    float top = weights[0];
    own([&](int32_t i) { top = fmaxf(top, weights[i]); });
    top = block_max<threads>(top);
    own([&](int32_t i) { weights[i] = exp2f(weights[i] - top); });

    const auto mass_from = [&](uint32_t least) { // bits of what is not negative are ordered as it is
        double mass = 0;
        own([&](int32_t i) {
            mass += __float_as_uint(weights[i]) >= least ? static_cast<double>(weights[i]) : 0.0;
        });
        return block_sum<threads>(mass);
    };
    const double wanted = (args.share - 1e-12) * mass_from(0);
    const uint32_t edge = largest(29, [&](uint32_t least) { return mass_from(least) >= wanted; });
    const auto at_edge = static_cast<double>(__uint_as_float(edge));
    const double needed = at_edge > 0 ? ceil((wanted - mass_from(edge + 1)) / at_edge) : 0;
    const uint32_t limit = largest(30, [&](uint32_t upto) {
        uint32_t before = 0;
        own([&](int32_t i) {
            before += __float_as_uint(weights[i]) == edge && static_cast<uint32_t>(i) < upto ? 1 : 0;
        });
        return static_cast<double>(block_sum<threads>(before)) <= needed;
    });
    own([&](int32_t i) {
        const uint32_t bits = __float_as_uint(weights[i]);
        if (bits < edge || (bits == edge && static_cast<uint32_t>(i) >= limit)) weights[i] = 0.0f;
    });
}

} // namespace

ReadPlan read_plan(const DecodeAttendArgs& args)
{
    const PageRetrieval& retrieval = args.retrieval;
    if (!retrieval.pages.bounds) return {.window = args.window};
    assert(args.window == 0);
    return {.retrieves = true,
            .tokens = retrieval.tokens,
            .page = retrieval.pages.page,
            .others = retrieval.most_pages - 1};
}

ReadRanks choose_ranks(const DecodeAttendArgs& args, const int32_t* used, CudaContext& context)
{
    PageChoice choice{.args = args, .plan = read_plan(args), .group = args.shape.group()};
    const int32_t heads = args.shape.kv_heads, dim = args.shape.head_dim;
    for (int32_t head = 0; head < heads; ++head) {
        const int32_t length = args.lists.used[head];
        if (choice.plan.whole(length)) continue;
        choice.page_stride = std::max<int64_t>(choice.page_stride, choice.plan.last_page(length));
        choice.rank_stride = std::max<int64_t>(choice.rank_stride, choice.plan.most_count(length));
    }
    if (choice.page_stride == 0) return {};
    choice.args.lists.used = used;
    const auto pages = static_cast<size_t>(heads * choice.page_stride);
    choice.scores = context.scratch<float>(ScratchUse::PageScores, pages);
    choice.pages =
        context.scratch<uint32_t>(ScratchUse::ReadRanks, pages + static_cast<size_t>(heads * choice.rank_stride));
    choice.ranks = choice.pages + pages;
    const auto tiles = static_cast<unsigned>((choice.page_stride + pages_per_block - 1) / pages_per_block);
    launch(context,
           {dim3(tiles, static_cast<unsigned>(heads)), dim3(threads), 2 * static_cast<size_t>(dim) * sizeof(float)},
           score_pages, choice);
    launch(context, {dim3(static_cast<unsigned>(heads)), dim3(threads)}, pick_pages, choice);
    return {choice.ranks, choice.rank_stride};
}

void keep_top_mass(const TopMass& args, CudaContext& context)
{
    launch(context, {dim3(static_cast<unsigned>(args.query_heads)), dim3(threads)}, settle_top_mass, args);
}

} // namespace palimpsest::kernels::cuda
