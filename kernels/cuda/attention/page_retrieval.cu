#include "kernels/cuda/attention/page_retrieval.h"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/attention/rotate.h"
#include "kernels/cuda/device/ordered_bits.h"
#include "kernels/cuda/device/radix_select.h"

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
    uint32_t* pages = nullptr; // [kv_heads, page_stride] retrieval pages selected, ascending
    int64_t page_stride = 0;
    uint32_t* ranks = nullptr; // [kv_heads, rank_stride]
    int64_t rank_stride = 0;
};

// For l <= g, max(q l, q g) is q l if q < 0, and q g otherwise. The mean of a retrieval page's bounds over the
// group is therefore one dot product of [least, greatest] with the means of the queries' negative and positive
// parts: parts [2, head_dim].
__device__ inline void mean_parts(const PageChoice& choice, int64_t head, float* parts)
{
    const DecodeAttendArgs& args = choice.args;
    const int32_t dim = args.shape.head_dim;
    const int64_t position = args.rotation.keys_rotated ? 0 : args.lists.used[head];
    for (auto i = static_cast<int32_t>(threadIdx.x); i < dim; i += threads) {
        float negative = 0, positive = 0;
        for (int32_t g = 0; g < choice.group; ++g) {
            const float* query = args.qkv + (head * choice.group + g) * dim;
            const float q = rotated(args.rotation.table, position, i, [&](int32_t j) { return query[j]; });
            (q < 0 ? negative : positive) += q / static_cast<float>(choice.group);
        }
        parts[i] = negative;
        parts[dim + i] = positive;
    }
}

// Grid: tiles of retrieval pages x KV heads. A warp scores one page at a time; its lanes share the dot product.
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

// Writes, ascending, the retrieval pages whose key is above `edge`, and the first `ties` of those whose key equals
// it.
template<class KeyOf>
__device__ inline void list_pages(int32_t pages, uint32_t edge, uint32_t ties, const KeyOf& key_of, uint32_t* to)
{
    const int32_t each = (pages + threads - 1) / threads, first = static_cast<int32_t>(threadIdx.x) * each;
    const int32_t last = first + each < pages ? first + each : pages;
    uint32_t above = 0, equal = 0;
    for (int32_t page = first; page < last; ++page) {
        above += key_of(page) > edge ? 1 : 0;
        equal += key_of(page) == edge ? 1 : 0;
    }
    const uint32_t before = block_sum_before<threads>(equal);
    uint32_t left = ties > before ? ties - before : 0;
    uint32_t at = block_sum_before<threads>(above + min(equal, left));
    for (int32_t page = first; page < last; ++page) {
        const uint32_t key = key_of(page);
        if (key < edge || (key == edge && left == 0)) continue;
        to[at++] = static_cast<uint32_t>(page);
        if (key == edge) --left;
    }
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

// One block per KV head: finds the lowest score that is still selected, then lists the retrieval pages above it,
// the first ones that have it, and their ranks.
__global__ void __launch_bounds__(threads) pick_pages(PageChoice choice)
{
    const int64_t head = blockIdx.x;
    const int32_t used = choice.args.lists.used[head];
    if (choice.plan.whole(used)) return;
    const int32_t pages = choice.plan.last_page(used);
    const auto others = static_cast<uint32_t>(choice.plan.others);
    const float* scores = choice.scores + head * choice.page_stride;
    const auto key_of = [&](int32_t page) { return ordered_bits(scores[page]); };
    uint32_t* chosen = choice.pages + head * choice.page_stride;
    if (others > 0) {
        const Edge<uint32_t> edge = find_largest(pages, others, key_of);
        list_pages(pages, edge.key, others - edge.above, key_of, chosen);
    }
    __syncthreads();
    list_ranks(choice, head, used, chosen);
}

// Sums the weights per digit (radix_select.h). The leading digit is the sign and seven of the eight exponent bits,
// so weights with the same leading digit have one of two exponents. In units of the last place of the smaller
// exponent they are integers below 2^25, whose sums do not depend on the order. Each of three counters sums nine
// bits of every weight, which suffices for 2^23 weights.
struct MassDigits {
    static constexpr int parts = 3, part_bits = 9, mantissa_bits = 23;
    uint32_t counts[parts][digits];

    __device__ static int least_exponent(uint32_t leading_digit)
    {
        return max(2 * static_cast<int>(leading_digit), 1);
    }
    __device__ static uint32_t units(uint32_t bits)
    {
        const uint32_t exponent = bits >> mantissa_bits, mantissa = bits & ((1u << mantissa_bits) - 1);
        const int places = max(static_cast<int>(exponent), 1) - least_exponent(bits >> (mantissa_bits + 1));
        return (exponent > 0 ? mantissa | 1u << mantissa_bits : mantissa) << places;
    }
    __device__ void clear()
    {
        for (int part = 0; part < parts; ++part)
            counts[part][threadIdx.x] = 0;
    }
    __device__ void add(uint32_t digit, uint32_t bits)
    {
        for (int part = 0; part < parts; ++part)
            atomicAdd(counts[part] + digit, units(bits) >> (part * part_bits) & ((1u << part_bits) - 1));
    }
    __device__ double amount(uint32_t digit, uint32_t leading_digit) const
    {
        constexpr int bias = 127;
        double sum = 0;
        for (int part = parts - 1; part >= 0; --part)
            sum = sum * (1 << part_bits) + counts[part][digit];
        return ldexp(sum, least_exponent(leading_digit) - bias - mantissa_bits);
    }
};

// `key`: the bits of the largest weight w such that the weights >= w hold `share` of the sum. `ties`: how many
// weights equal to w are needed.
struct MassEdge {
    uint32_t key = 0;
    double ties = 0;
};

template<class BitsOf>
__device__ inline MassEdge find_mass(int32_t count, double share, const BitsOf& bits_of)
{
    static_assert(threads == digits);
    __shared__ MassDigits masses;
    Edge<double> edge;
    double wanted = 0;
    for (int shift = 32 - digit_bits; shift >= 0; shift -= digit_bits) {
        masses.clear();
        __syncthreads();
        for (auto i = static_cast<int32_t>(threadIdx.x); i < count; i += threads)
            if (const uint32_t bits = bits_of(i); (bits & edge.mask) == edge.key)
                masses.add(bits >> shift & (digits - 1), bits);
        __syncthreads();
        const bool is_first = edge.mask == 0;
        const double amount = masses.amount(threadIdx.x, is_first ? threadIdx.x : edge.key >> (32 - digit_bits));
        if (is_first) wanted = share * block_sum<threads>(amount);
        append_digit(edge, shift, amount, wanted);
    }
    const auto at_edge = static_cast<double>(__uint_as_float(edge.key));
    return {edge.key, at_edge > 0 ? ceil((wanted - edge.above) / at_edge) : 0};
}

// Implements keep_top_mass. One block per query head.
__global__ void __launch_bounds__(threads) apply_top_mass(TopMass args)
{
    const int64_t query_head = blockIdx.x;
    float* weights = args.weights + query_head * args.stride;
    const int32_t count = args.plan.count(args.used[query_head / args.group]);
    float top = weights[0];
    for (auto i = static_cast<int32_t>(threadIdx.x); i < count; i += threads)
        top = fmaxf(top, weights[i]);
    top = block_max<threads>(top);
    for (auto i = static_cast<int32_t>(threadIdx.x); i < count; i += threads)
        weights[i] = exp2f(weights[i] - top);

    // Non-negative floats are ordered like their bits.
    const auto bits_of = [&](int32_t i) { return __float_as_uint(weights[i]) & 0x7fffffffu; };
    const MassEdge edge = find_mass(count, args.share - 1e-12, bits_of);
    uint32_t before = 0;
    for (int32_t tile = 0; tile < count; tile += threads) {
        const int32_t i = tile + static_cast<int32_t>(threadIdx.x);
        const uint32_t bits = i < count ? bits_of(i) : ~0u;
        uint32_t of_tile = 0;
        const uint32_t tie = before + block_sum_before<threads>(bits == edge.key ? 1u : 0u, &of_tile);
        if (bits < edge.key || (bits == edge.key && static_cast<double>(tie) >= edge.ties)) weights[i] = 0.0f;
        before += of_tile;
    }
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
            .others = retrieval.max_pages - 1};
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
    launch(context, {dim3(static_cast<unsigned>(args.query_heads)), dim3(threads)}, apply_top_mass, args);
}

} // namespace palimpsest::kernels::cuda
