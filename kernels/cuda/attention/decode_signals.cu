#include "kernels/cuda/attention/decode_signals.h"

#include <algorithm>

#include "kernels/cuda/attention/gini.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr float entropy_floor = 1e-10f; // added inside the logarithm of SignalRequest::entropies

struct RowSignals {
    SignalRequest wanted;
    DecodedWeights weights; // of the visible ranks, in rank order
    const int32_t* used = nullptr;
    int32_t window = 0; // as in ReadPlan
    int32_t kv_heads = 0, group = 1;
    float* factors = nullptr; // [query_heads] for outside_newest: each row is multiplied by its factor; null: 1
    float* sorted = nullptr;  // [query_heads, sorted_stride], for RowStatistic::Gini
    int64_t sorted_stride = 0;
};

// Ranks of a list that the token sees, itself included.
struct SeenRanks {
    int32_t first, count;
};

__device__ inline SeenRanks seen_ranks(const RowSignals& row, int32_t head)
{
    const ReadPlan plan{.window = row.window};
    return {plan.first(row.used[head]), plan.seen(row.used[head])};
}

// For lists that are read in part: copies the weights into rank order, with zero for ranks that are not read.
struct Spreading {
    DecodedWeights weights;
    ReadPlan plan;
    ReadRanks read;
    const int32_t* used = nullptr;
    int32_t group = 1;
    float* to = nullptr; // [query_heads, stride]
    int64_t stride = 0;
};

__global__ void clear_weights(Spreading spreading)
{
    float* to = spreading.to + static_cast<int64_t>(blockIdx.y) * spreading.stride;
    const int64_t rank = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (rank < spreading.stride) to[rank] = 0.0f;
}

__global__ void spread_weights(Spreading spreading)
{
    const auto query_head = static_cast<int32_t>(blockIdx.y), head = query_head / spreading.group;
    const auto i = static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    const int32_t used = spreading.used[head];
    if (i >= spreading.plan.count(used)) return;
    const int64_t rank = spreading.plan.whole(used) ? i : spreading.read.ranks[head * spreading.read.stride + i];
    spreading.to[query_head * spreading.stride + rank] =
        spreading.weights.at(head, query_head % spreading.group, spreading.group, i);
}

__device__ inline float row_statistic(const RowSignals& row, int32_t head, int32_t g, int32_t ranks)
{
    const RowStatistic kind = row.wanted.row_statistic;
    const auto each = [&](auto&& use) {
        for (auto i = static_cast<int32_t>(threadIdx.x); i < ranks; i += threads)
            use(i, row.weights.at(head, g, row.group, i));
    };
    if (kind == RowStatistic::Gini) {
        float* sorted = row.sorted + (static_cast<int64_t>(head) * row.group + g) * row.sorted_stride;
        each([&](int32_t i, float a) { sorted[i] = a; });
        return gini_of<threads>(sorted, ranks);
    }
    const float uniform = 1.0f / static_cast<float>(ranks);
    float sum = 0;
    each([&](int32_t, float a) {
        if (kind == RowStatistic::Density)
            sum += a >= uniform ? 1.0f : 0.0f;
        else
            sum -= a > 0 ? a * logf(a) : 0.0f;
    });
    sum = block_sum<threads>(sum);
    if (kind == RowStatistic::Density) return sum / static_cast<float>(ranks);
    return ranks > 1 ? sum / logf(static_cast<float>(ranks)) : 0.0f;
}

__device__ inline float outside_factor(const RowSignals& row, int32_t head, int32_t g, int32_t ranks)
{
    float outside = 0;
    for (auto i = static_cast<int32_t>(threadIdx.x); i < ranks - row.wanted.outside_newest; i += threads)
        outside += row.weights.at(head, g, row.group, i);
    outside = block_sum<threads>(outside);
    return outside > 0 ? 1.0f / outside : 1.0f;
}

// Computes what needs the whole row: row statistics, and factors for outside_newest. One block per query head.
__global__ void row_signals(RowSignals row)
{
    const auto query_head = static_cast<int32_t>(blockIdx.x);
    const int32_t head = query_head / row.group, g = query_head % row.group;
    const int32_t ranks = seen_ranks(row, head).count;
    if (row.wanted.row_statistic != RowStatistic::None) {
        const float statistic = row_statistic(row, head, g, ranks);
        if (threadIdx.x == 0) row.wanted.row_statistics[query_head] = statistic;
    }
    if (!row.factors) return;
    const float factor = outside_factor(row, head, g, ranks);
    if (threadIdx.x == 0) row.factors[query_head] = factor;
}

// Computes the signals per rank. One thread per rank and KV head.
__global__ void column_signals(RowSignals row)
{
    const auto head = static_cast<int32_t>(blockIdx.y);
    const auto rank = static_cast<int32_t>(blockIdx.x * threads + threadIdx.x);
    const SeenRanks seen = seen_ranks(row, head);
    if (rank >= seen.first + seen.count) return;
    const bool is_seen = rank >= seen.first;
    const SignalRequest& wanted = row.wanted;
    float sum = 0, entropy = 0;
    for (int32_t g = 0; g < row.group; ++g) {
        const int64_t query_head = static_cast<int64_t>(head) * row.group + g;
        const float factor = row.factors ? row.factors[query_head] : 1.0f;
        const float a = is_seen ? row.weights.at(head, g, row.group, rank - seen.first) * factor : 0.0f;
        sum += a;
        if (wanted.entropies) entropy -= a * logf(a + entropy_floor);
        if (wanted.head_sums) wanted.head_sums[query_head * wanted.stride + rank] = a;
        if (wanted.head_squares) wanted.head_squares[query_head * wanted.stride + rank] = a * a;
    }
    const int64_t to = head * wanted.stride + rank;
    const float uniform = static_cast<float>(row.group) / static_cast<float>(seen.count);
    if (wanted.sums) wanted.sums[to] = sum;
    if (wanted.low_counts) wanted.low_counts[to] = is_seen && sum < uniform ? 1.0f : 0.0f;
    if (wanted.entropies) wanted.entropies[to] = entropy;
}

bool wants_columns(const SignalRequest& wanted)
{
    return wanted.sums || wanted.low_counts || wanted.entropies || wanted.head_sums || wanted.head_squares;
}

dim3 grid_of(int64_t items, int32_t heads)
{
    return {static_cast<unsigned>((items + threads - 1) / threads), static_cast<unsigned>(heads)};
}

DecodedWeights in_rank_order(const DecodeAttendArgs& args, const int32_t* used, const ReadRanks& read,
                             const DecodedWeights& weights, float* memory, int64_t ranks, CudaContext& context)
{
    const Spreading spreading{.weights = weights,
                              .plan = read_plan(args),
                              .read = read,
                              .used = used,
                              .group = args.shape.group(),
                              .to = memory,
                              .stride = ranks};
    launch(context, {grid_of(ranks, args.shape.query_heads), dim3(threads)}, clear_weights, spreading);
    launch(context, {grid_of(weights.stride, args.shape.query_heads), dim3(threads)}, spread_weights, spreading);
    return {.weights = memory, .stride = ranks};
}

} // namespace

void decode_signals(const DecodeAttendArgs& args, const int32_t* used, const ReadRanks& read,
                    const DecodedWeights& weights, CudaContext& context)
{
    const HeadShape& shape = args.shape;
    const SignalRequest& wanted = args.signals;
    const int64_t ranks = *std::max_element(args.lists.used, args.lists.used + shape.kv_heads) + 1;
    const bool gini = wanted.row_statistic == RowStatistic::Gini;
    RowSignals row{.wanted = wanted,
                   .weights = weights,
                   .used = used,
                   .window = args.window,
                   .kv_heads = shape.kv_heads,
                   .group = shape.group(),
                   .sorted_stride = gini ? gini_floats(ranks) : 0};
    const int64_t per_head = 1 + row.sorted_stride + (read.ranks ? ranks : 0);
    auto* memory =
        context.scratch<float>(ScratchUse::RowStatistics, static_cast<size_t>(shape.query_heads * per_head));
    if (wanted.outside_newest > 0) row.factors = memory;
    row.sorted = memory + shape.query_heads;
    if (read.ranks) {
        float* spread = row.sorted + shape.query_heads * row.sorted_stride;
        row.weights = in_rank_order(args, used, read, weights, spread, ranks, context);
    }
    if (row.factors || wanted.row_statistic != RowStatistic::None)
        launch(context, {dim3(static_cast<unsigned>(shape.query_heads)), dim3(threads)}, row_signals, row);
    if (wants_columns(wanted))
        launch(context, {grid_of(ranks, shape.kv_heads), dim3(threads)}, column_signals, row);
}

} // namespace palimpsest::kernels::cuda
