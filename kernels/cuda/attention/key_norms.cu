// The norms of the keys of a chunk or token, for policies that read them (SignalRequest::key_norms).
#include <algorithm>

#include "kernels/cuda/attention/key_norms.h"
#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 128, block_ranks = threads / warp_lanes;

struct KeyNorms {
    HeadShape shape;
    int64_t qkv_width = 0;
    const float* qkv = nullptr;
    int32_t rows = 0;
    const int32_t* used = nullptr;
    float* norms = nullptr;
    int64_t stride = 0;
};

// A warp handles one rank of a list; blockIdx.y is the KV head. Lanes take every 32nd element.
__global__ void __launch_bounds__(threads) key_norms_kernel(KeyNorms work)
{
    const auto head = static_cast<int64_t>(blockIdx.y);
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int64_t rank =
        static_cast<int64_t>(blockIdx.x) * block_ranks + static_cast<int>(threadIdx.x) / warp_lanes;
    const int64_t row = rank - work.used[head];
    if (row >= work.rows) return;
    float squares = 0;
    if (row >= 0) {
        const int32_t dim = work.shape.head_dim;
        const float* key = work.qkv + row * work.qkv_width + (work.shape.query_heads + head) * dim;
        for (int32_t i = lane; i < dim; i += warp_lanes)
            squares = fmaf(key[i], key[i], squares);
    }
    squares = warp_sum(squares);
    if (lane == 0) work.norms[head * work.stride + rank] = sqrtf(squares);
}

} // namespace

void write_key_norms(const HeadShape& shape, const float* qkv, int32_t rows, const UsedRanks& used,
                     const SignalRequest& wanted, CudaContext& context)
{
    if (wanted.rows == 0 || !wanted.key_norms) return;
    const int64_t ranks = *std::max_element(used.most, used.most + shape.kv_heads) + int64_t{rows};
    const dim3 grid(static_cast<unsigned>((ranks + block_ranks - 1) / block_ranks),
                    static_cast<unsigned>(shape.kv_heads));
    launch(context, {grid, dim3(threads)}, key_norms_kernel,
           KeyNorms{.shape = shape,
                    .qkv_width = shape.qkv_width(),
                    .qkv = qkv,
                    .rows = rows,
                    .used = used.exact,
                    .norms = wanted.key_norms,
                    .stride = wanted.stride});
}

} // namespace palimpsest::kernels::cuda
