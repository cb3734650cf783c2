#include "kernels/cuda/linear/rms_norm.h"

#include "kernels/cuda/device/block_reduce.h"
#include "kernels/cuda/device/mma.h"
#include "kernels/cuda/linear/f16_scale.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int threads = 256;

struct MakeRows {
    RowSource source;
    bool aligned = false; // float4 loads are aligned
    void* values = nullptr;
    float* scales = nullptr;
    int64_t stride = 0;
};

// Elements k to k + 3 of a row of the source after norm or gate.
__device__ float4 made(const RowSource& source, const float* x, float factor, int64_t k, bool aligned)
{
    const float4 first = four_of(x, k, source.cols, aligned);
    if (source.gated) {
        const float4 up = four_of(x + source.cols, k, source.cols, aligned);
        const auto act = [&](float g) { return activated(source.activation, g); };
        return times({act(first.x), act(first.y), act(first.z), act(first.w)}, up);
    }
    if (source.norm.weight == nullptr) return first;
    return times(times(first, factor), four_of(source.norm.weight, k, source.cols, aligned));
}

__device__ float factor_of_row(const RowSource& source, const float* x, bool aligned)
{
    if (source.norm.weight == nullptr) return 1.0f;
    float squares = 0;
    for (int64_t k = 4 * threadIdx.x; k < source.cols; k += 4 * threads)
        squares += sum_of_squares(four_of(x, k, source.cols, aligned));
    return norm_factor(block_sum(squares), source.cols, source.norm.epsilon);
}

template<DType type>
__device__ void store_four(void* row, int64_t k, float4 x)
{
    if constexpr (type == DType::F32)
        *reinterpret_cast<float4*>(static_cast<float*>(row) + k) = x;
    else
        *reinterpret_cast<uint2*>(static_cast<uint16_t*>(row) + k) = {pack<type>(x.x, x.y), pack<type>(x.z, x.w)};
}

// One block per row.
template<DType type>
__global__ void __launch_bounds__(threads) make_rows_kernel(MakeRows args)
{
    constexpr int64_t bytes = type == DType::F32 ? 4 : 2;
    const RowSource& source = args.source;
    const int64_t row = blockIdx.x;
    const float* x = source.x + row * source.cols * (source.gated ? 2 : 1);
    const float factor = factor_of_row(source, x, args.aligned);
    float scale = 1.0f;
    if constexpr (type == DType::F16) {
        float largest = 0;
        for (int64_t k = 4 * threadIdx.x; k < source.cols; k += 4 * threads) {
            const float4 v = made(source, x, factor, k, args.aligned);
            largest = fmaxf(largest, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
        }
        const PowerOfTwo to_range = f16_scale(block_max(largest));
        scale = to_range.factor;
        if (threadIdx.x == 0) args.scales[row] = to_range.inverse;
    }
    auto* y = static_cast<unsigned char*>(args.values) + row * args.stride * bytes;
    for (int64_t k = 4 * threadIdx.x; k < args.stride; k += 4 * threads)
        store_four<type>(y, k, times(made(source, x, factor, k, args.aligned), scale));
}

} // namespace

Operand make_rows(const RowSource& source, DType type, ScratchUse use, CudaContext& context)
{
    const bool plain = source.norm.weight == nullptr && !source.gated;
    if (plain && type == DType::F32)
        return {.type = type, .values = source.x, .rows = source.rows, .cols = source.cols, .stride = source.cols};
    const int64_t stride = operand_stride(source.cols);
    const int64_t value_bytes = source.rows * stride * (type == DType::F32 ? 4 : 2);
    auto* scratch = context.scratch<std::byte>(
        use, static_cast<size_t>(value_bytes + source.rows * static_cast<int64_t>(sizeof(float))));
    auto* scales = reinterpret_cast<float*>(scratch + value_bytes);
    const bool aligned = in_fours(source.x, source.cols) &&
                         (source.norm.weight == nullptr || in_fours(source.norm.weight, source.cols));
    with_type(type, [&]<DType t>(std::integral_constant<DType, t>) {
        launch(context, {.grid = dim3(static_cast<unsigned>(source.rows)), .block = dim3(threads)},
               make_rows_kernel<t>, MakeRows{source, aligned, scratch, scales, stride});
    });
    return {.type = type,
            .values = scratch,
            .scales = type == DType::F16 ? scales : nullptr,
            .rows = source.rows,
            .cols = source.cols,
            .stride = stride};
}

} // namespace palimpsest::kernels::cuda
