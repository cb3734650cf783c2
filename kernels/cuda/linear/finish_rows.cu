#include "kernels/cuda/linear/finish_rows.h"

#include <algorithm>

#include "kernels/cuda/device/block_reduce.h"
#include "kernels/cuda/linear/gemm.h"
#include "kernels/cuda/linear/gemv.h"
#include "kernels/cuda/linear/soft_cap.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int64_t part_cols = 8 * threads; // columns that one block handles if there is no norm

struct FinishRows {
    RowFinish finish;
    const float* product = nullptr; // [rows, cols]
    float* y = nullptr;             // [rows, cols]; may be the product
    int64_t rows = 0, cols = 0;
    bool add = false;
};

// A block handles a row; without a norm, a part of a row.
__global__ void __launch_bounds__(threads) finish_rows_kernel(FinishRows args)
{
    const RowFinish& finish = args.finish;
    const bool normed = finish.norm.weight != nullptr;
    const int64_t first = normed ? 0 : blockIdx.x * part_cols;
    const int64_t last = normed ? args.cols : min(first + part_cols, args.cols);
    for (int64_t row = blockIdx.y; row < args.rows; row += gridDim.y) {
        const float* x = args.product + row * args.cols;
        float* y = args.y + row * args.cols;
        float factor = finish.factor;
        if (normed) {
            float squares = 0;
            for (int64_t i = threadIdx.x; i < args.cols; i += threads)
                squares = fmaf(x[i], x[i], squares);
            factor *= norm_factor(block_sum(squares), args.cols, finish.norm.epsilon);
        }
        for (int64_t i = first + threadIdx.x; i < last; i += threads) {
            float value = x[i] * factor * (normed ? finish.norm.weight[i] : 1.0f);
            value = softly_capped(finish.soft_cap, value);
            y[i] = args.add ? y[i] + value : value;
        }
    }
}

void multiply(const Product& product, Phase phase, CudaContext& context)
{
    if (phase == Phase::Decode)
        gemv(product, context);
    else
        gemm(product, context);
}

} // namespace

void multiply_and_finish(Product product, const RowFinish& finish, Phase phase, CudaContext& context)
{
    if (finish.is_plain()) return multiply(product, phase, context);
    constexpr int64_t most_grid_rows = 32768;
    const int64_t rows = product.x.rows, cols = product.weight->rows();
    FinishRows args{.finish = finish, .y = product.y, .rows = rows, .cols = cols, .add = product.accumulate};
    if (product.accumulate)
        product.y = context.scratch<float>(ScratchUse::Unfinished, static_cast<size_t>(rows * cols));
    product.accumulate = false;
    multiply(product, phase, context);
    args.product = product.y;
    const int64_t parts = finish.norm.weight != nullptr ? 1 : (cols + part_cols - 1) / part_cols;
    launch(context,
           {.grid = dim3(static_cast<unsigned>(parts), static_cast<unsigned>(std::min(rows, most_grid_rows))),
            .block = dim3(threads)},
           finish_rows_kernel, args);
}

} // namespace palimpsest::kernels::cuda
