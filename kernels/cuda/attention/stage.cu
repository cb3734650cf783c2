// Splits a chunk's qkv rows into keys and values in the staging buffer. One block per row and KV head; each thread
// converts every stage_threads-th element.
#include "kernels/cuda/attention/rotate.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/kernels.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int stage_threads = 128;

template<DType type>
__global__ void stage_rows(StageArgs args, int64_t qkv_width)
{
    const int64_t row = blockIdx.x, head = blockIdx.y;
    const int32_t dim = args.shape.head_dim;
    const float* key = args.qkv + row * qkv_width + (args.shape.query_heads + head) * dim;
    const float* value = key + static_cast<int64_t>(args.shape.kv_heads) * dim;
    const int64_t to = (head * args.staging.capacity + row) * dim;
    const auto key_element = [&](int32_t i) { return key[i]; };
    for (auto i = static_cast<int32_t>(threadIdx.x); i < dim; i += stage_threads) {
        const float x =
            args.rotation.keys_rotated ? rotated(args.rotation.table, row, i, key_element) : key_element(i);
        store<type>(args.staging.keys, to + i, x);
        store<type>(args.staging.values, to + i, value[i]);
    }
}

} // namespace

void stage(const StageArgs& args, CudaContext& context)
{
    if (args.rows == 0) return;
    const dim3 grid(static_cast<unsigned>(args.rows), static_cast<unsigned>(args.shape.kv_heads));
    with_type(args.staging.type, [&](auto type) {
        launch(context, {grid, dim3(stage_threads)}, stage_rows<decltype(type)::value>, args,
               args.shape.qkv_width());
    });
}

} // namespace palimpsest::kernels::cuda
