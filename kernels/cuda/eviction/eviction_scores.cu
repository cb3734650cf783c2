#include "kernels/cuda/eviction/eviction_scores.h"

#include "kernels/cuda/eviction/list_plan.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int block_threads = 256; // one rank each
constexpr int most_staged_kernel = 1025;

int32_t pooled_ranks(const SelectionRule& rule)
{
    return rule.pooling == PoolRule::None ? 1 : rule.kernel;
}

// The raw scores of a list. If `staged`, those that a block needs for pooling are kept in shared memory.
template<bool staged>
class RawScores {
public:
    __device__ RawScores(const EvictArgs& args, int64_t head, int64_t begin)
        : args_(args), head_(head), begin_(begin), staged_(dynamic_shared<double>())
    {
    }
    // Stages ranks [begin, end). For the whole block.
    __device__ void stage(int64_t end) const
    {
        if constexpr (staged)
            for (int64_t rank = begin_ + threadIdx.x; rank < end; rank += block_threads)
                staged_[rank - begin_] = raw_score(args_, head_, rank);
    }
    __device__ double operator()(int64_t rank) const
    {
        if constexpr (staged) return staged_[rank - begin_];
        return raw_score(args_, head_, rank);
    }

private:
    const EvictArgs& args_;
    int64_t head_, begin_;
    double* staged_;
};

// Pools ranks [first, end), from the oldest. Ranks outside the list count as 0 for Average, and not at all for
// Max.
template<class Scores>
__device__ double pooled(const SelectionRule& rule, const Scores& scores, int64_t first, int64_t end)
{
    double x = scores(first);
    for (int64_t rank = first + 1; rank < end; ++rank) {
        const double next = scores(rank);
        if (rule.pooling == PoolRule::Average)
            x = __dadd_rn(x, next);
        else if (x < next)
            x = next;
    }
    return rule.pooling == PoolRule::Average ? __ddiv_rn(x, static_cast<double>(rule.kernel)) : x;
}

// One thread per rank. blockIdx.y is the list; with layer_mean, one list of keys serves all.
template<bool staged>
__global__ void __launch_bounds__(block_threads)
    score_kernel(EvictArgs args, int32_t reach, uint64_t* keys, int64_t stride)
{
    const int64_t head = blockIdx.y, first = static_cast<int64_t>(blockIdx.x) * block_threads;
    const ListPlan list = list_plan(args.plan, head);
    if (list.evicted == 0 || list.given == 1 || first >= list.end) return;
    const int64_t rank = first + threadIdx.x, end = list.end;
    const int64_t begin = first > reach ? first - reach : 0;
    const int64_t staged_end = first + block_threads + reach < end ? first + block_threads + reach : end;
    const int heads = args.rule.layer_mean ? args.kv_heads : 1;
    double score = 0;
    for (int h = 0; h < heads; ++h) {
        const RawScores<staged> scores(args, head + h, begin);
        scores.stage(staged_end);
        __syncthreads();
        if (rank < end) {
            const double x = pooled(args.rule, scores, rank > reach ? rank - reach : 0,
                                    rank + reach < end ? rank + reach + 1 : end);
            score = h == 0 ? x : __dadd_rn(score, x);
        }
        __syncthreads();
    }
    if (args.rule.layer_mean) score = __ddiv_rn(score, static_cast<double>(args.kv_heads));
    if (rank < end) keys[head * stride + rank] = score_key(score);
}

} // namespace

void score_ranks(const EvictArgs& args, uint64_t* keys, int64_t stride, CudaContext& context)
{
    const int32_t kernel = pooled_ranks(args.rule), reach = kernel / 2;
    const bool staged = kernel <= most_staged_kernel;
    const auto blocks = static_cast<unsigned>((args.max_size + block_threads - 1) / block_threads);
    const auto lists = static_cast<unsigned>(args.rule.layer_mean ? 1 : args.kv_heads);
    const size_t shared = staged ? static_cast<size_t>(block_threads + 2 * reach) * sizeof(double) : 0;
    const Launch shape{dim3(blocks, lists), dim3(block_threads), shared};
    launch(context, shape, staged ? score_kernel<true> : score_kernel<false>, args, reach, keys, stride);
}

} // namespace palimpsest::kernels::cuda
