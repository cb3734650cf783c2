// Signals of a chunk. Logits are computed a second time: a block keeps 64 ranks and reads one tile of query rows
// after the other, so that one thread sums a rank over all rows of a split. The rows are divided into splits of
// fixed size, whose sums are added in order.
#include "kernels/cuda/attention/prefill_signals.h"

#include <algorithm>

#include "kernels/cuda/attention/attention_tile.h"
#include "kernels/cuda/attention/decode_signals.h"
#include "kernels/cuda/attention/gini.h"
#include "kernels/cuda/attention/tensor_signals.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr float entropy_floor = 1e-10f; // added inside the logarithm of SignalRequest::entropies
constexpr float ln_2 = 0.693147181f;
constexpr float nothing = -__builtin_huge_valf();
constexpr int finish_threads = 256;

// Sums of each split; null: not wanted. Every plane is [splits, heads, ranks].
struct SignalPlanes {
    float* sums = nullptr;         // heads: KV heads
    float* low_counts = nullptr;   // heads: KV heads
    float* entropies = nullptr;    // heads: KV heads
    float* head_sums = nullptr;    // heads: query heads
    float* head_squares = nullptr; // heads: query heads
};

struct SignalWork {
    RotatedRows rotated;
    SignalRequest wanted;
    const float* lse = nullptr; // [kv_heads, query_stride]; with outside_newest: over older ranks only
    int32_t kv_heads = 0;
    int32_t first_row = 0;  // first row of the chunk that is counted
    int32_t split_rows = 1; // rows of the chunk in each split
    int32_t splits = 1;
    SignalPlanes planes{};
};

// Replaces the logits in tile.scores by attention weights A: zero where a row does not attend, and in rows from
// `last` on.
__device__ inline void probabilities(const SignalWork& work, int64_t head, int64_t first, int64_t last,
                                     int32_t first_rank, AttentionTile& tile)
{
    for (int i = static_cast<int>(threadIdx.x); i < tile_rows * tile_ranks; i += tile_threads) {
        const int row = i / tile_ranks, rank = i % tile_ranks;
        const int64_t x = first + row;
        const bool attends = x < last && first_rank + rank < visible_ranks(work.rotated, head, x) &&
                             first_rank + rank >= first_visible(work.rotated, head, x);
        tile.scores[row][rank] =
            attends ? exp2f(tile.scores[row][rank] - work.lse[head * work.rotated.query_stride + x]) : 0.0f;
    }
    __syncthreads();
}

// A thread's sums for one rank. add() is called for one stacked row after the other.
struct GroupSums {
    float sum = 0, low = 0, entropy = 0;
    float row = 0; // A of the current chunk row, summed over the heads of the group so far

    __device__ void add(const SignalWork& work, int64_t head, int64_t x, int32_t rank, float a)
    {
        const auto g = static_cast<int32_t>(x % work.rotated.group);
        sum += a;
        row = g == 0 ? a : row + a;
        if (work.wanted.entropies) entropy -= a * logf(a + entropy_floor);
        if (g + 1 < work.rotated.group) return;
        const int32_t visible = visible_ranks(work.rotated, head, x), hidden = work.rotated.first_rank(visible);
        const float uniform = static_cast<float>(work.rotated.group) / static_cast<float>(visible - hidden);
        if (rank >= hidden && rank < visible && row < uniform) low += 1;
    }
};

__device__ inline void add_tile(const SignalWork& work, int64_t head, int64_t first, int64_t last, int32_t rank,
                                const AttentionTile& tile, GroupSums& sums)
{
    for (int64_t x = first; x < last && x < first + tile_rows; ++x)
        sums.add(work, head, x, rank, tile.scores[x - first][rank % tile_ranks]);
}

// Adds a tile to the sums per query head. `heads`: [2, group, tile_ranks], sums, then sums of squares.
__device__ inline void add_tile_heads(const SignalWork& work, int64_t first, int64_t last, int rank,
                                      const AttentionTile& tile, float* heads)
{
    const int32_t group = work.rotated.group;
    for (int64_t x = first; x < last && x < first + tile_rows; ++x) {
        const float a = tile.scores[x - first][rank];
        float* own = heads + x % group * tile_ranks + rank;
        own[0] += a;
        own[group * tile_ranks] = fmaf(a, a, own[group * tile_ranks]);
    }
}

__device__ inline void save_sums(const SignalWork& work, int64_t head, int32_t rank, const GroupSums& sums)
{
    const int64_t at = (blockIdx.z * int64_t{work.kv_heads} + head) * work.rotated.key_stride + rank;
    if (work.planes.sums) work.planes.sums[at] = sums.sum;
    if (work.planes.low_counts) work.planes.low_counts[at] = sums.low;
    if (work.planes.entropies) work.planes.entropies[at] = sums.entropy;
}

__device__ inline void save_heads(const SignalWork& work, int64_t head, int32_t rank, const float* heads)
{
    const int32_t group = work.rotated.group;
    const int64_t first = (blockIdx.z * int64_t{work.kv_heads} + head) * group;
    for (int32_t g = 0; g < group; ++g) {
        const float* own = heads + g * tile_ranks + rank % tile_ranks;
        const int64_t at = (first + g) * work.rotated.key_stride + rank;
        if (work.planes.head_sums) work.planes.head_sums[at] = own[0];
        if (work.planes.head_squares) work.planes.head_squares[at] = own[group * tile_ranks];
    }
}

// Sums the rows of split blockIdx.z, for 64 ranks of KV head blockIdx.y. Half of the block's threads sum over the
// query group, the other half per query head.
template<DType type>
__global__ void __launch_bounds__(tile_threads) sum_columns(SignalWork work)
{
    __shared__ AttentionTile tile;
    auto* heads = dynamic_shared<float>();
    const RotatedRows& rotated = work.rotated;
    const int64_t head = blockIdx.y, group = rotated.group;
    const auto first_rank = static_cast<int32_t>(blockIdx.x) * tile_ranks;
    const int32_t first_chunk_row = work.first_row + static_cast<int32_t>(blockIdx.z) * work.split_rows;
    const int32_t last_chunk_row =
        first_chunk_row + work.split_rows < rotated.rows ? first_chunk_row + work.split_rows : rotated.rows;
    if (first_rank >= rotated.used[head] + rotated.rows) return;

    const auto self = static_cast<int>(threadIdx.x);
    const bool together = self < tile_ranks,
               by_head = !together && (work.planes.head_sums || work.planes.head_squares);
    const int32_t rank = first_rank + self % tile_ranks;
    for (int64_t i = self; by_head && i < 2 * group * tile_ranks + tile_ranks; i += tile_ranks)
        if (i >= tile_ranks) heads[i - tile_ranks] = 0;
    GroupSums sums;
    // Skips rows before the first one that attends to a rank of the block.
    const int32_t skipped = first_rank - rotated.used[head] - first_chunk_row;
    const int32_t begin = skipped > 0 ? first_chunk_row + skipped : first_chunk_row;
    // From this chunk row on, all ranks of the block are outside of the row's window.
    const int32_t not_seeing = rotated.window > 0
                                   ? max(first_rank - rotated.used[head] + tile_ranks - 1 + rotated.window, 0)
                                   : last_chunk_row;
    const int64_t last = min(last_chunk_row, not_seeing) * group;
    for (int64_t first = begin * group; first < last; first += tile_rows) {
        tile_scores<type>(rotated, head, first, first_rank, tile);
        probabilities(work, head, first, last, first_rank, tile);
        if (together)
            add_tile(work, head, first, last, rank, tile, sums);
        else if (by_head)
            add_tile_heads(work, first, last, self - tile_ranks, tile, heads);
    }
    if (rank >= rotated.used[head] + rotated.rows) return;
    if (together)
        save_sums(work, head, rank, sums);
    else if (by_head)
        save_heads(work, head, rank, heads);
}

struct Finish {
    const float* plane = nullptr; // [splits, heads, plane_stride]
    float* to = nullptr;          // [heads, stride]
    int64_t plane_stride = 0, stride = 0;
    const int32_t* used = nullptr;
    int32_t splits = 1, rows = 0, heads_per_list = 1;
};

__global__ void add_splits(Finish finish)
{
    const int64_t rank = static_cast<int64_t>(blockIdx.x) * finish_threads + threadIdx.x, head = blockIdx.y;
    if (rank >= finish.used[head / finish.heads_per_list] + finish.rows) return;
    float sum = 0;
    for (int64_t split = 0; split < finish.splits; ++split)
        sum += finish.plane[(split * gridDim.y + head) * finish.plane_stride + rank];
    finish.to[head * finish.stride + rank] = sum;
}

// What pass_rows computes: the log-sum-exp over the ranks outside the newest (outside_newest), or a row statistic.
enum class RowPass : uint8_t { Outside, Entropy, Density };

struct RowWork {
    RotatedRows rotated;
    const float* lse = nullptr; // [kv_heads, query_stride]
    int32_t first_row = 0;
    int32_t outside_newest = 0;
    float* found = nullptr; // Outside: [kv_heads, query_stride]; else [kv_heads, wanted rows * group]
    int64_t found_stride = 0;
    int64_t found_first = 0; // first stacked row in `found`
};

__device__ inline float log_sum(float a, float b)
{
    const float top = fmaxf(a, b);
    return top == nothing ? top : top + log2f(exp2f(a - top) + exp2f(b - top));
}

// A thread's part of pass_rows: every fourth logit of one row.
template<RowPass pass>
struct RowPart {
    float top = nothing, sum = 0;

    __device__ void add(float score, float lse, float uniform)
    {
        if constexpr (pass == RowPass::Outside) {
            const float next = fmaxf(top, score);
            sum = (top == nothing ? 0.0f : sum * exp2f(top - next)) + exp2f(score - next);
            top = next;
        } else {
            const float a = exp2f(score - lse);
            if constexpr (pass == RowPass::Entropy)
                sum -= a > 0 ? a * (score - lse) * ln_2 : 0.0f;
            else
                sum += a >= uniform ? 1.0f : 0.0f;
        }
    }
    // Combines the parts of the four lanes that share the row.
    __device__ float all(float lse, int32_t seen) const
    {
        float x = pass == RowPass::Outside && top != nothing ? top + log2f(sum) : top;
        if constexpr (pass != RowPass::Outside) x = sum;
        for (int reach = 1; reach <= 2; reach *= 2) {
            const float other = __shfl_xor_sync(all_lanes, x, reach);
            x = pass == RowPass::Outside ? log_sum(x, other) : x + other;
        }
        if (pass == RowPass::Outside) return x == nothing ? lse : x;
        if (pass == RowPass::Density) return x / static_cast<float>(seen);
        return seen > 1 ? x / logf(static_cast<float>(seen)) : 0.0f;
    }
};

// A block handles 32 stacked rows of one KV head, over all ranks they attend to.
template<DType type, RowPass pass>
__global__ void __launch_bounds__(tile_threads) pass_rows(RowWork work)
{
    __shared__ AttentionTile tile;
    const RotatedRows& rotated = work.rotated;
    const int64_t head = blockIdx.y, stacked = int64_t{rotated.rows} * rotated.group;
    const int64_t first = int64_t{work.first_row} * rotated.group + static_cast<int64_t>(blockIdx.x) * tile_rows;
    const int64_t last = first + tile_rows < stacked ? first + tile_rows : stacked;
    const auto self = static_cast<int>(threadIdx.x), row = self / 4;
    const int64_t x = first + row;
    const int32_t outside = rotated.used[head] + rotated.rows - work.outside_newest;
    const auto limit = [&](int64_t at) {
        const int32_t visible = visible_ranks(rotated, head, at);
        return pass == RowPass::Outside && outside < visible ? outside : visible;
    };
    const int32_t visible = visible_ranks(rotated, head, x), own = limit(x), most = limit(last - 1);
    const int32_t hidden = rotated.first_rank(visible), seen = visible - hidden;
    const float lse = x < stacked ? work.lse[head * rotated.query_stride + x] : 0.0f;
    const float uniform = 1.0f / static_cast<float>(seen);
    RowPart<pass> part;
    for (int32_t first_rank = first_tile(rotated, head, first); first_rank < most; first_rank += tile_ranks) {
        tile_scores<type>(rotated, head, first, first_rank, tile);
        for (int i = self % 4; i < tile_ranks; i += 4)
            if (first_rank + i >= hidden && first_rank + i < own) part.add(tile.scores[row][i], lse, uniform);
    }
    const float found = part.all(lse, seen);
    if (self % 4 == 0 && x < stacked) work.found[head * work.found_stride + x - work.found_first] = found;
}

struct GiniWork {
    RotatedRows rotated;
    const float* lse = nullptr;
    int32_t first_row = 0;
    int64_t rows = 0; // stacked rows per KV head
    int64_t tasks = 0;
    float* sorted = nullptr; // [blocks, sorted_stride]
    int64_t sorted_stride = 0;
    float* found = nullptr; // [kv_heads, rows]
};

// A block computes one row of attention weights after the other, sorts it, and stores its Gini coefficient.
template<DType type>
__global__ void gini_rows(GiniWork work)
{
    const RotatedRows& rotated = work.rotated;
    const auto warp = static_cast<int>(threadIdx.x) / warp_lanes, lane = static_cast<int>(threadIdx.x) % warp_lanes;
    float* row = work.sorted + blockIdx.x * work.sorted_stride;
    for (int64_t task = blockIdx.x; task < work.tasks; task += gridDim.x) {
        const int64_t head = task / work.rows, x = int64_t{work.first_row} * rotated.group + task % work.rows;
        const int32_t visible = visible_ranks(rotated, head, x), hidden = rotated.first_rank(visible);
        const int64_t query = (head * rotated.query_stride + x) * rotated.dim;
        for (int32_t rank = hidden + warp; rank < visible; rank += finish_threads / warp_lanes) {
            const int64_t key = (head * rotated.key_stride + rank) * rotated.dim;
            float score = 0;
            for (int32_t d = lane; d < rotated.dim; d += warp_lanes)
                score = fmaf(load<type>(rotated.queries, query + d), load<type>(rotated.keys, key + d), score);
            score = softly_capped(rotated.soft_cap, warp_sum(score));
            if (lane == 0) row[rank - hidden] = exp2f(score - work.lse[head * rotated.query_stride + x]);
        }
        __syncthreads();
        const float gini = gini_of<finish_threads>(row, visible - hidden);
        if (threadIdx.x == 0) work.found[task] = gini;
    }
}

// Sums row statistics over rows, in order. One thread per query head.
__global__ void sum_statistics(const float* found, int32_t rows, int32_t group, int32_t query_heads, float* to)
{
    const auto query_head = static_cast<int32_t>(blockIdx.x * finish_threads + threadIdx.x);
    if (query_head >= query_heads) return;
    const float* own = found + (static_cast<int64_t>(query_head) / group * rows) * group + query_head % group;
    float sum = 0;
    for (int64_t row = 0; row < rows; ++row)
        sum += own[row * group];
    to[query_head] = sum;
}

template<RowPass pass>
void launch_row_pass(const RowWork& work, int32_t kv_heads, CudaContext& context)
{
    const int64_t rows = int64_t{work.rotated.rows - work.first_row} * work.rotated.group;
    const dim3 grid(static_cast<unsigned>((rows + tile_rows - 1) / tile_rows), static_cast<unsigned>(kv_heads));
    with_type(work.rotated.type, [&](auto type) {
        launch(context, {grid, dim3(tile_threads)}, pass_rows<decltype(type)::value, pass>, work);
    });
}

void launch_gini(GiniWork work, int32_t kv_heads, CudaContext& context)
{
    work.tasks = kv_heads * work.rows;
    work.sorted_stride = gini_floats(work.rotated.key_stride);
    const int64_t blocks = std::min<int64_t>(work.tasks, 2 * std::max(context.multiprocessors(), 1));
    const auto found = static_cast<size_t>(work.tasks);
    auto* memory =
        context.scratch<float>(ScratchUse::RowStatistics, found + static_cast<size_t>(blocks * work.sorted_stride));
    work.found = memory;
    work.sorted = memory + found;
    with_type(work.rotated.type, [&](auto type) {
        launch(context, {dim3(static_cast<unsigned>(blocks)), dim3(finish_threads)},
               gini_rows<decltype(type)::value>, work);
    });
}

void row_statistics(const AttendArgs& args, const RotatedRows& rotated, const float* lse, int32_t first_row,
                    CudaContext& context)
{
    const int32_t heads = args.shape.kv_heads, rows = args.rows - first_row;
    const int64_t stacked = int64_t{rows} * rotated.group;
    if (args.signals.row_statistic == RowStatistic::Gini) {
        launch_gini({.rotated = rotated, .lse = lse, .first_row = first_row, .rows = stacked}, heads, context);
    } else {
        const RowWork work{
            .rotated = rotated,
            .lse = lse,
            .first_row = first_row,
            .found = context.scratch<float>(ScratchUse::RowStatistics, static_cast<size_t>(heads * stacked)),
            .found_stride = stacked,
            .found_first = int64_t{first_row} * rotated.group};
        if (args.signals.row_statistic == RowStatistic::Entropy)
            launch_row_pass<RowPass::Entropy>(work, heads, context);
        else
            launch_row_pass<RowPass::Density>(work, heads, context);
    }
    const float* found = context.scratch<float>(ScratchUse::RowStatistics, static_cast<size_t>(heads * stacked));
    const auto blocks = static_cast<unsigned>((args.shape.query_heads + finish_threads - 1) / finish_threads);
    launch(context, {dim3(blocks), dim3(finish_threads)}, sum_statistics, found, rows, rotated.group,
           args.shape.query_heads, args.signals.row_statistics);
}

// Returns, for each row, the log-sum-exp over the ranks outside the newest `outside_newest`; over all ranks if the
// row attends to none of them, or if none are excluded.
const float* outside_lse(const AttendArgs& args, const RotatedRows& rotated, const float* lse, int32_t first_row,
                         CudaContext& context)
{
    if (args.signals.outside_newest < 0) return lse;
    const auto rows = static_cast<size_t>(args.shape.kv_heads * rotated.query_stride);
    const RowWork work{.rotated = rotated,
                       .lse = lse,
                       .first_row = first_row,
                       .outside_newest = args.signals.outside_newest,
                       .found = context.scratch<float>(ScratchUse::NormedRows, rows),
                       .found_stride = rotated.query_stride};
    launch_row_pass<RowPass::Outside>(work, args.shape.kv_heads, context);
    return work.found;
}

class Planes {
public:
    Planes(const SignalWork& work, int32_t kv_heads)
        : of_one_(work.splits * int64_t{kv_heads} * work.rotated.key_stride)
    {
    }
    float* take(const float* wanted, int64_t heads_per_list, float* memory)
    {
        if (!wanted) return nullptr;
        const int64_t at = used_;
        used_ += of_one_ * heads_per_list;
        return memory ? memory + at : nullptr;
    }
    int64_t used() const { return used_; }

private:
    int64_t of_one_, used_ = 0;
};

// Places the planes in `memory`, and returns how many floats they need; null: only counts.
int64_t lay_out(SignalWork& work, float* memory)
{
    Planes planes(work, work.kv_heads);
    const SignalRequest& wanted = work.wanted;
    const int64_t group = work.rotated.group;
    work.planes = {.sums = planes.take(wanted.sums, 1, memory),
                   .low_counts = planes.take(wanted.low_counts, 1, memory),
                   .entropies = planes.take(wanted.entropies, 1, memory),
                   .head_sums = planes.take(wanted.head_sums, group, memory),
                   .head_squares = planes.take(wanted.head_squares, group, memory)};
    return planes.used();
}

void finish_plane(const SignalWork& work, const float* plane, int32_t heads_per_list, float* to,
                  CudaContext& context)
{
    if (!plane) return;
    const Finish finish{.plane = plane,
                        .to = to,
                        .plane_stride = work.rotated.key_stride,
                        .stride = work.wanted.stride,
                        .used = work.rotated.used,
                        .splits = work.splits,
                        .rows = work.rotated.rows,
                        .heads_per_list = heads_per_list};
    const dim3 grid(static_cast<unsigned>((work.rotated.key_stride + finish_threads - 1) / finish_threads),
                    static_cast<unsigned>(work.kv_heads * heads_per_list));
    launch(context, {grid, dim3(finish_threads)}, add_splits, finish);
}

void sum_planes(const SignalWork& work, CudaContext& context)
{
    const SignalPlanes& planes = work.planes;
    const bool by_head = planes.head_sums || planes.head_squares;
    const bool counts = !planes.low_counts || counts_low_on_tensor_cores(work.rotated.group);
    if (work.rotated.type != DType::F32 && !by_head && counts)
        return sum_ranks_on_tensor_cores({.rotated = work.rotated,
                                          .lse = work.lse,
                                          .kv_heads = work.kv_heads,
                                          .first_row = work.first_row,
                                          .split_rows = work.split_rows,
                                          .splits = work.splits,
                                          .sums = planes.sums,
                                          .low_counts = planes.low_counts,
                                          .entropies = planes.entropies},
                                         context);
    const dim3 grid(static_cast<unsigned>(work.rotated.key_stride / tile_ranks),
                    static_cast<unsigned>(work.kv_heads), static_cast<unsigned>(work.splits));
    const size_t shared = by_head ? sizeof(float) * 2 * tile_ranks * static_cast<size_t>(work.rotated.group) : 0;
    with_type(work.rotated.type, [&](auto type) {
        launch(context, {grid, dim3(tile_threads), shared}, sum_columns<decltype(type)::value>, work);
    });
}

void column_signals(SignalWork work, CudaContext& context)
{
    const int64_t floats = lay_out(work, nullptr);
    if (floats == 0) return;
    lay_out(work, context.scratch<float>(ScratchUse::Partials, static_cast<size_t>(floats)));
    sum_planes(work, context);
    const int32_t group = work.rotated.group;
    finish_plane(work, work.planes.sums, 1, work.wanted.sums, context);
    finish_plane(work, work.planes.low_counts, 1, work.wanted.low_counts, context);
    finish_plane(work, work.planes.entropies, 1, work.wanted.entropies, context);
    finish_plane(work, work.planes.head_sums, group, work.wanted.head_sums, context);
    finish_plane(work, work.planes.head_squares, group, work.wanted.head_squares, context);
}

} // namespace

void prefill_signals(const AttendArgs& args, const RotatedRows& rotated, const float* lse, CudaContext& context)
{
    const int32_t rows = std::min(args.signals.rows, args.rows), first_row = args.rows - rows;
    if (args.signals.row_statistic != RowStatistic::None) row_statistics(args, rotated, lse, first_row, context);
    const int32_t split_rows = std::max(split_stacked_rows / rotated.group, 1);
    column_signals({.rotated = rotated,
                    .wanted = args.signals,
                    .lse = outside_lse(args, rotated, lse, first_row, context),
                    .kv_heads = args.shape.kv_heads,
                    .first_row = first_row,
                    .split_rows = split_rows,
                    .splits = (rows + split_rows - 1) / split_rows},
                   context);
}

} // namespace palimpsest::kernels::cuda
