// One warp converts one row, in two passes: the first finds a bound of its elements for the power of two that
// brings them into the range of f16 (operand.h), the second converts eight elements per lane and step.
#include "kernels/cuda/linear/dequantise.h"

#include <algorithm>

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/linear/chunk.h"
#include "kernels/cuda/linear/f16_scale.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int warps = 8, threads = warps * warp_lanes;
constexpr int lane_elements = 8; // elements that a lane converts per step

struct Dequantise {
    WeightPlanes from;
    uint16_t* values = nullptr; // [rows, stride] f16
    float* scales = nullptr;
};

// Returns an upper bound of the magnitudes of the row's elements to every lane. For quantised types it follows from
// the scales alone; a bound that is twice too large only costs the smallest elements one bit in f16. All lanes of
// a warp call together.
template<DType type>
__device__ float bound_of_row(const WeightPlanes& from, int64_t row)
{
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    float largest = 0;
    if constexpr (is_chunked(type)) {
        constexpr Coding coding = coding_of(type);
        const PlaneRow planes = plane_row<type>(from, row);
        for (int64_t c = lane; c < from.cols / chunk_columns; c += warp_lanes) {
            ChunkScales<type> scales;
            scales.from(planes, c);
            for (int g = 0; g < coding.groups(); ++g) {
                float bound = fabsf(scales.scale(g)) * static_cast<float>(coding.largest_code());
                if constexpr (coding.has_offset()) bound += fabsf(scales.offset(g));
                largest = fmaxf(largest, bound);
            }
        }
    } else if constexpr (type == DType::Q8_0) {
        constexpr float most_byte = 128.0f;
        const auto* scales = static_cast<const uint16_t*>(from.scales) + row * (from.stride / 32);
        for (int64_t b = lane; b < from.cols / 32; b += warp_lanes)
            largest = fmaxf(largest, most_byte * fabsf(widen_f16(scales[b])));
    } else {
        const auto* values = static_cast<const uint16_t*>(from.values) + row * from.stride;
        for (int64_t k = lane; k < from.cols; k += warp_lanes)
            largest = fmaxf(largest, fabsf(widen_bf16(values[k])));
    }
    return warp_max(largest);
}

// Elements k to k + 7 of a row.
template<DType type>
__device__ void eight_of(const WeightPlanes& from, int64_t row, int64_t k, float (&x)[lane_elements])
{
    const int64_t at = row * from.stride + k;
    if constexpr (is_chunked(type)) {
        const PlaneRow planes = plane_row<type>(from, row);
        const int word = static_cast<int>(k % chunk_columns) / 4;
        for (int half = 0; half < 2; ++half) {
            const float4 four = four_weights<type>(planes, k / chunk_columns, word + half);
            x[4 * half] = four.x, x[4 * half + 1] = four.y, x[4 * half + 2] = four.z, x[4 * half + 3] = four.w;
        }
    } else if constexpr (type == DType::Q8_0) {
        const uint2 bytes = *reinterpret_cast<const uint2*>(static_cast<const int8_t*>(from.values) + at);
        const float scale = widen_f16(static_cast<const uint16_t*>(from.scales)[at / 32]);
        for (int i = 0; i < lane_elements; ++i)
            x[i] = scale * static_cast<float>(static_cast<int8_t>((i < 4 ? bytes.x : bytes.y) >> (8 * (i % 4))));
    } else {
        const uint4 pairs = *reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(from.values) + at);
        const uint32_t words[4] = {pairs.x, pairs.y, pairs.z, pairs.w};
        for (int i = 0; i < lane_elements; ++i)
            x[i] = widen_bf16(static_cast<uint16_t>(words[i / 2] >> (16 * (i % 2))));
    }
}

__device__ uint32_t two_f16(float low, float high)
{
    return narrow_f16(low) | static_cast<uint32_t>(narrow_f16(high)) << 16;
}

// One warp per row.
template<DType type>
__global__ void __launch_bounds__(threads) dequantise_kernel(Dequantise args)
{
    const WeightPlanes& from = args.from;
    const int64_t row = blockIdx.x * static_cast<int64_t>(warps) + threadIdx.x / warp_lanes;
    if (row >= from.rows) return; // all lanes of the warp, so that none is missing in warp_max
    const PowerOfTwo to_range = f16_scale(bound_of_row<type>(from, row));
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    if (lane == 0) args.scales[row] = to_range.inverse;
    for (int64_t k = lane_elements * lane; k < from.stride; k += lane_elements * warp_lanes) {
        float x[lane_elements];
        eight_of<type>(from, row, k, x);
        for (float& element : x)
            element *= to_range.factor;
        *reinterpret_cast<uint4*>(args.values + row * from.stride + k) = {two_f16(x[0], x[1]), two_f16(x[2], x[3]),
                                                                          two_f16(x[4], x[5]), two_f16(x[6], x[7])};
    }
}

} // namespace

DType operand_type(DType weight, const CudaContext& context)
{
    constexpr int first_with_bf16 = 80;
    if (weight == DType::F32) return DType::F32;
    return weight == DType::BF16 && context.compute_capability() >= first_with_bf16 ? DType::BF16 : DType::F16;
}

int64_t rows_at_once(const WeightPlanes& part, const CudaContext& context)
{
    constexpr int64_t max_elements = int64_t{16} << 20; // 32 MiB of f16, less than the L2 cache of an A100 or H100
    constexpr int64_t tile_rows = 128; // of the product; other row counts would leave tiles half empty
    if (operand_type(part.type, context) == part.type) return part.rows;
    return std::clamp(max_elements / part.stride / tile_rows * tile_rows, tile_rows,
                      std::max(part.rows, tile_rows));
}

Operand weight_operand(const WeightPlanes& part, CudaContext& context)
{
    Operand operand{.type = operand_type(part.type, context),
                    .values = part.values,
                    .rows = part.rows,
                    .cols = part.cols,
                    .stride = part.stride};
    if (operand.type == part.type) return operand;
    const int64_t elements = part.rows * part.stride;
    // part.rows * 2: one float scale a row is two uint16_t.
    auto* values =
        context.scratch<uint16_t>(ScratchUse::DequantisedWeight, static_cast<size_t>(elements + part.rows * 2));
    auto* scales = reinterpret_cast<float*>(values + elements);
    operand.values = values;
    operand.scales = scales;
    const Launch shape{.grid = dim3(static_cast<unsigned>((part.rows + warps - 1) / warps)),
                       .block = dim3(threads)};
    const Dequantise args{part, values, scales};
    if (is_chunked(part.type))
        with_chunked_type(part.type,
                          [&](auto type) { launch(context, shape, dequantise_kernel<type.value>, args); });
    else if (part.type == DType::Q8_0)
        launch(context, shape, dequantise_kernel<DType::Q8_0>, args);
    else // BF16, on sm_75 only
        launch(context, shape, dequantise_kernel<DType::BF16>, args);
    return operand;
}

} // namespace palimpsest::kernels::cuda
