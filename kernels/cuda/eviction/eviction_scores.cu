// One thread computes the score of one entry, a block those of 256 neighbouring entries of a list. Pooled scores
// are added from the oldest on, as on the CPU, so that both have the same bits; running sums would round
// differently.
#include "kernels/cuda/eviction/eviction_scores.h"

#include "kernels/cuda/eviction/list_plan.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int block_threads = 256; // one entry each
// Pooling windows of at most so many entries are staged: 10 KiB of shared memory, so that several blocks fit on a
// multiprocessor. For wider ones each thread computes the raw scores of its whole window.
constexpr int max_staged_window = 1025;

int32_t pooling_window(const SelectionRule& rule)
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
    // Stages entries [begin, end). For the whole block.
    __device__ void stage(int64_t end) const
    {
        if constexpr (staged)
            for (int64_t entry = begin_ + threadIdx.x; entry < end; entry += block_threads)
                staged_[entry - begin_] = raw_score(args_, head_, entry);
    }
    __device__ double operator()(int64_t entry) const
    {
        if constexpr (staged) return staged_[entry - begin_];
        return raw_score(args_, head_, entry);
    }

private:
    const EvictArgs& args_;
    int64_t head_, begin_;
    double* staged_;
};

// Pools the scores of entries [first, end), from the oldest. Average divides by the whole window even where the
// list ends within it.
template<class Scores>
__device__ double pooled(const SelectionRule& rule, const Scores& scores, int64_t first, int64_t end)
{
    double x = scores(first);
    for (int64_t entry = first + 1; entry < end; ++entry) {
        const double next = scores(entry);
        if (rule.pooling == PoolRule::Average)
            x = __dadd_rn(x, next);
        else if (x < next)
            x = next;
    }
    return rule.pooling == PoolRule::Average ? __ddiv_rn(x, static_cast<double>(rule.kernel)) : x;
}

// One thread per entry; blockIdx.y is the list. With layer_mean only the sort keys of list 0 are computed, and all
// lists of the layer use them: they have equally many entries and the same plan. `half_window`: entries before and
// behind an entry that are pooled with it. A list whose plan names its evicted entries (`given`) needs no scores.
template<bool staged>
__global__ void __launch_bounds__(block_threads)
    score_kernel(EvictArgs args, int32_t half_window, uint64_t* keys, int64_t stride)
{
    const int64_t head = blockIdx.y, first = static_cast<int64_t>(blockIdx.x) * block_threads;
    const ListPlan list = list_plan(args.plan, head);
    if (list.evicted == 0 || list.given == 1 || first >= list.end) return;
    const int64_t entry = first + threadIdx.x, end = list.end, block_end = first + block_threads;
    const int64_t begin = first > half_window ? first - half_window : 0;
    const int64_t staged_end = block_end + half_window < end ? block_end + half_window : end;
    const int heads = args.rule.layer_mean ? args.kv_heads : 1;
    double score = 0;
    for (int h = 0; h < heads; ++h) {
        const RawScores<staged> scores(args, head + h, begin);
        scores.stage(staged_end);
        __syncthreads();
        if (entry < end) {
            const double x = pooled(args.rule, scores, entry > half_window ? entry - half_window : 0,
                                    entry + half_window < end ? entry + half_window + 1 : end);
            score = h == 0 ? x : __dadd_rn(score, x);
        }
        __syncthreads();
    }
    if (args.rule.layer_mean) score = __ddiv_rn(score, static_cast<double>(args.kv_heads));
    if (entry < end) keys[head * stride + entry] = score_key(score);
}

} // namespace

void score_entries(const EvictArgs& args, uint64_t* keys, int64_t stride, CudaContext& context)
{
    const int32_t window = pooling_window(args.rule), half_window = window / 2;
    const bool staged = window <= max_staged_window;
    const auto blocks = static_cast<unsigned>((args.max_size + block_threads - 1) / block_threads);
    const auto lists = static_cast<unsigned>(args.rule.layer_mean ? 1 : args.kv_heads);
    const size_t shared = staged ? static_cast<size_t>(block_threads + 2 * half_window) * sizeof(double) : 0;
    const Launch shape{dim3(blocks, lists), dim3(block_threads), shared};
    launch(context, shape, staged ? score_kernel<true> : score_kernel<false>, args, half_window, keys, stride);
}

} // namespace palimpsest::kernels::cuda
