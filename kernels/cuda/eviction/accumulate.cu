// Accumulates signals into the statistics of every list, in double precision: each operation is rounded once, so
// that the bits match those of the CPU (engine/policy/signals/accumulator.h).
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/eviction/list_plan.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int block_threads = 256;

// One thread per rank; blockIdx.y is the list.
__global__ void __launch_bounds__(block_threads) accumulate_kernel(AccumulateArgs args)
{
    const int64_t head = blockIdx.y, rank = static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x;
    const int64_t size = list_plan(args.plan, head).size;
    if (rank >= size) return;
    // Among the ranks of this step; < 0: an older rank.
    const int64_t new_index = rank - (size + args.question_rows - args.rows);
    const int64_t queries =
        new_index < 0 || args.rows - new_index > args.counted ? args.counted : args.rows - new_index;
    double* sum = args.statistics.sum + head * args.statistics.stride + rank;
    double* count = args.statistics.count + head * args.statistics.stride + rank;
    const auto column = static_cast<double>(args.columns[head * args.column_stride + rank]);
    const double added = __ddiv_rn(column, static_cast<double>(args.divisor));
    *sum = __dadd_rn(new_index < 0 ? __dmul_rn(args.decay, *sum) : 0.0, added);
    *count = __dadd_rn(new_index < 0 ? __dmul_rn(args.decay, *count) : 0.0, static_cast<double>(queries));
}

} // namespace

void accumulate(const AccumulateArgs& args, CudaContext& context)
{
    if (args.kv_heads == 0 || args.max_size == 0) return;
    const auto blocks = static_cast<unsigned>((args.max_size + block_threads - 1) / block_threads);
    launch(context, {dim3(blocks, static_cast<unsigned>(args.kv_heads)), dim3(block_threads)}, accumulate_kernel,
           args);
}

} // namespace palimpsest::kernels::cuda
