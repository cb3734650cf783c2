#include <algorithm>

#include "kernels/cuda/device/block_reduce.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/linear/product.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 128;

// A block handles one query or key head of a row; with across_heads, all queries or all keys of a row.
__global__ void __launch_bounds__(threads) prepare_heads_kernel(PrepareHeadsArgs args, int64_t qkv_width)
{
    const int32_t dim = args.shape.head_dim, heads = args.shape.query_heads;
    const auto unit = static_cast<int32_t>(blockIdx.x);
    const bool of_queries = unit < (args.across_heads ? 1 : heads);
    const RmsNorm& norm = of_queries ? args.query_norm : args.key_norm;
    const bool scaled = of_queries && args.query_factor != 1.0f;
    if (norm.weight == nullptr && !scaled) return;
    const int32_t first_head = args.across_heads ? (of_queries ? 0 : heads) : unit;
    const int32_t unit_heads = !args.across_heads ? 1 : of_queries ? heads : args.shape.kv_heads;
    const int64_t cols = int64_t{unit_heads} * dim;
    for (int64_t row = blockIdx.y; row < args.rows; row += gridDim.y) {
        float* x = args.qkv + row * qkv_width + int64_t{first_head} * dim;
        float factor = 1.0f;
        if (norm.weight != nullptr) {
            float squares = 0;
            for (int64_t i = threadIdx.x; i < cols; i += threads)
                squares = fmaf(x[i], x[i], squares);
            factor = norm_factor(block_sum(squares), cols, norm.epsilon);
        }
        for (int64_t i = threadIdx.x; i < cols; i += threads) {
            float value = x[i];
            if (norm.weight != nullptr) value = value * factor * norm.weight[i];
            if (scaled && i % dim < args.query_factor_dims) value *= args.query_factor;
            x[i] = value;
        }
    }
}

} // namespace

void prepare_heads(const PrepareHeadsArgs& args, CudaContext& context)
{
    if (args.rows == 0) return;
    constexpr int32_t most_grid_rows = 32768;
    const int32_t units = args.across_heads ? 2 : args.shape.query_heads + args.shape.kv_heads;
    launch(context,
           {.grid = dim3(static_cast<unsigned>(units), static_cast<unsigned>(std::min(args.rows, most_grid_rows))),
            .block = dim3(threads)},
           prepare_heads_kernel, args, args.shape.qkv_width());
}

} // namespace palimpsest::kernels::cuda
