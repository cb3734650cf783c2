#include "kernels/cuda/attention/key_similarities.h"

#include "kernels/cuda/attention/kv_list.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 256, warps = threads / warp_lanes;

struct Similarities {
    ScoredKeys keys;
    float* to = nullptr;
    int64_t stride = 0;
};

template<DType pool, DType staged>
__device__ inline float key_element(const ScoredKeys& keys, const KvList& list, int64_t head, int64_t rank,
                                    int64_t in_pool, int32_t i)
{
    if (rank < in_pool) return load<pool>(list.key<pool>(keys.staged > 0 ? rank : list.order[rank]), i);
    const int64_t row = head * keys.staging.capacity + rank - in_pool;
    return load<staged>(staged_row<staged>(keys.staging.keys, row, keys.shape.head_dim), i);
}

// A block handles the list of a KV head, a warp every 8th rank, a lane every 32nd element. Shared memory: [warps,
// head_dim], the sum of the keys of each warp, each divided by its norm; then, in the first row, the mean of all.
template<DType pool, DType staged>
__global__ void __launch_bounds__(threads) key_similarities_kernel(Similarities work)
{
    auto* sums = dynamic_shared<float>();
    const ScoredKeys& keys = work.keys;
    const auto head = static_cast<int64_t>(blockIdx.x);
    const int32_t dim = keys.shape.head_dim;
    const auto self = static_cast<int>(threadIdx.x);
    const int lane = self % warp_lanes, warp = self / warp_lanes;
    const KvList list = list_of(keys.pool, keys.lists, head, dim);
    const int64_t in_pool = int64_t{keys.lists.used[head]} + keys.pooled, ranks = in_pool + keys.staged;
    float* to = work.to + head * work.stride;
    const auto element = [&](int64_t rank, int32_t i) {
        return key_element<pool, staged>(keys, list, head, rank, in_pool, i);
    };
    float* own = sums + warp * dim;
    for (int32_t i = lane; i < dim; i += warp_lanes)
        own[i] = 0.0f;
    for (int64_t rank = warp; rank < ranks; rank += warps) {
        float squares = 0;
        for (int32_t i = lane; i < dim; i += warp_lanes)
            squares = fmaf(element(rank, i), element(rank, i), squares);
        squares = warp_sum(squares);
        const float inverse = squares > 0 ? 1.0f / sqrtf(squares) : 0.0f;
        for (int32_t i = lane; i < dim; i += warp_lanes)
            own[i] = fmaf(element(rank, i), inverse, own[i]);
        if (lane == 0) to[rank] = inverse;
    }
    __syncthreads();
    for (int32_t i = self; i < dim; i += threads) {
        for (int w = 1; w < warps; ++w)
            sums[i] += sums[w * dim + i];
        sums[i] /= static_cast<float>(ranks);
    }
    __syncthreads();
    for (int64_t rank = warp; rank < ranks; rank += warps) {
        float dot = 0;
        for (int32_t i = lane; i < dim; i += warp_lanes)
            dot = fmaf(element(rank, i), sums[i], dot);
        dot = warp_sum(dot);
        if (lane == 0) to[rank] *= dot; // written by this lane above
    }
}

} // namespace

void write_key_similarities(const ScoredKeys& keys, const SignalRequest& wanted, CudaContext& context)
{
    if (wanted.rows == 0 || !wanted.key_similarities) return;
    const Similarities work{.keys = keys, .to = wanted.key_similarities, .stride = wanted.stride};
    const size_t shared = sizeof(float) * warps * static_cast<size_t>(keys.shape.head_dim);
    const auto launch_for = [&](auto pool, auto staged) {
        launch(context, {dim3(static_cast<unsigned>(keys.shape.kv_heads)), dim3(threads), shared},
               key_similarities_kernel<decltype(pool)::value, decltype(staged)::value>, work);
    };
    with_types(keys.pool.type, keys.staging.type, launch_for);
}

} // namespace palimpsest::kernels::cuda
