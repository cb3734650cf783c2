// Looks up rows of the embedding table and widens them to f32. One block per id and part of the table; a thread
// computes every 256th element. What limits it is the launch, so that a thread may decode four weights for one.

#include <cassert>

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/linear/chunk.h"
#include "kernels/cuda/linear/cuda_weight.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr unsigned threads = 256;

// Element c of a row of the planes, with the same bits as to_f32.
template<DType type>
__device__ inline float element(const WeightPlanes& planes, int64_t row, int64_t c)
{
    if constexpr (is_chunked(type)) {
        const float4 four = four_weights<type>(plane_row<type>(planes, row), c / chunk_columns,
                                               static_cast<int>(c % chunk_columns) / 4);
        return c % 4 == 0 ? four.x : c % 4 == 1 ? four.y : c % 4 == 2 ? four.z : four.w;
    } else if constexpr (type == DType::Q8_0) {
        const float scale =
            widen_f16(static_cast<const uint16_t*>(planes.scales)[row * (planes.stride / 32) + c / 32]);
        return scale * static_cast<float>(static_cast<const int8_t*>(planes.values)[row * planes.stride + c]);
    } else {
        return load<type>(planes.values, row * planes.stride + c);
    }
}

// A block widens the row of one id, if this part contains it. first_row: the part's first row in the table.
template<DType type>
__global__ void embed_rows(WeightPlanes planes, int64_t first_row, const int32_t* ids, float factor, float* y)
{
    const int64_t row = ids[blockIdx.x] - first_row;
    if (row < 0 || row >= planes.rows) return;
    float* to = y + static_cast<int64_t>(blockIdx.x) * planes.cols;
    for (int64_t c = threadIdx.x; c < planes.cols; c += blockDim.x)
        to[c] = factor * element<type>(planes, row, c);
}

} // namespace

void embed(const EmbedArgs& args, CudaContext& context)
{
    const size_t count = args.device_id != nullptr ? 1 : args.ids.size();
    if (count == 0) return;
    for ([[maybe_unused]] const int32_t id : args.ids)
        assert(args.device_id != nullptr || (id >= 0 && id < args.table->rows()));
    // Embedding is the first work of a token. Its attention reads lists that the eviction of the token before may
    // still be changing on the branch (CudaContext::Aside).
    context.wait_for_aside();
    const int32_t* ids = args.device_id != nullptr ? args.device_id : context.send(args.ids);
    const Launch shape{.grid = dim3(static_cast<unsigned>(count)), .block = dim3(threads)};
    int64_t first_row = 0;
    for (const WeightPlanes& planes : static_cast<const CudaWeight&>(*args.table).parts()) {
        const auto launch_for = [&](auto type) {
            launch(context, shape, embed_rows<decltype(type)::value>, planes, first_row, ids, args.factor, args.y);
        };
        if (is_chunked(planes.type))
            with_chunked_type(planes.type, launch_for);
        else if (planes.type == DType::Q8_0)
            launch_for(std::integral_constant<DType, DType::Q8_0>());
        else
            with_type(planes.type, launch_for);
        first_row += planes.rows;
    }
}

} // namespace palimpsest::kernels::cuda
