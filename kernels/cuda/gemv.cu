#include "kernels/cuda/gemv.h"

#include <algorithm>

#include "kernels/cuda/block_reduce.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int warps = 8, threads = warps * warp_lanes;
// Columns of x that lie in shared memory at a time; the rows of a wide weight come past in several tiles.
constexpr int tile_cols = 4096;
constexpr int loads_in_flight = 8;
constexpr int most_parts = 4;

// Parts of one type whose rows follow one another, side by side in one launch.
struct PartRows {
    struct Part {
        const void* values;
        const uint16_t* scales;
        int64_t stride, end_row; // of the row behind the part's last
    };
    Part parts[most_parts];
    int count = 0;
    int64_t rows = 0;
};

struct GemvArgs {
    PartRows weight;
    RowSource x;
    bool aligned = false; // float4 loads of x and of the norm's weight are
    const float* bias = nullptr;
    float* y = nullptr;
    int64_t y_stride = 0;
    bool accumulate = false;
};

template<DType type>
constexpr int elements_of_load = type == DType::F32    ? 4
                                 : type == DType::Q8_0 ? 16
                                                       : 8;

struct WeightRow {
    const unsigned char* values;
    const uint16_t* scales;
};

// 16 bytes that are read once and need no place in the first-level cache.
__device__ uint4 stream16(const void* at)
{
#ifdef __CUDACC__
    uint4 x;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
        : "l"(at));
    return x;
#else
    return *static_cast<const uint4*>(at);
#endif
}

template<DType type>
__device__ WeightRow weight_row(const PartRows& weight, int64_t row)
{
    constexpr int64_t bytes = type == DType::F32 ? 4 : type == DType::Q8_0 ? 1 : 2;
    int p = 0;
    int64_t first = 0;
    while (p + 1 < weight.count && row >= weight.parts[p].end_row)
        first = weight.parts[p++].end_row;
    const PartRows::Part& part = weight.parts[p];
    const int64_t start = (row - first) * part.stride;
    return {static_cast<const unsigned char*>(part.values) + start * bytes,
            type == DType::Q8_0 ? part.scales + start / 32 : nullptr};
}

template<DType type>
struct Load {
    uint4 values;
    float scale;

    __device__ void from(const WeightRow& row, int64_t chunk)
    {
        values = stream16(row.values + 16 * chunk);
        if constexpr (type == DType::Q8_0) scale = widen_f16(__ldg(row.scales + chunk / 2));
    }
};

__device__ float byte_of(uint32_t word, int i)
{
    return static_cast<float>(static_cast<int8_t>(word >> (8 * i)));
}

template<DType type>
__device__ float half_of(uint32_t word, int i)
{
    const auto bits = static_cast<uint16_t>(word >> (16 * i));
    return type == DType::F16 ? widen_f16(bits) : widen_bf16(bits);
}

// The four sums of a lane; `x` is where the first float4 of the load's activations lies, the others follow a plane
// apart.
template<DType type>
__device__ void add_products(float (&sums)[4], const Load<type>& w, const float4* x, int plane, int step)
{
    const uint32_t words[4] = {w.values.x, w.values.y, w.values.z, w.values.w};
    if constexpr (type == DType::Q8_0) {
        float partial = 0;
        for (int j = 0; j < 4; ++j) {
            const float4 v = x[j * plane];
            partial += byte_of(words[j], 0) * v.x + byte_of(words[j], 1) * v.y + byte_of(words[j], 2) * v.z +
                       byte_of(words[j], 3) * v.w;
        }
        sums[step % 4] += w.scale * partial;
    } else if constexpr (type == DType::F32) {
        const float4 v = x[0];
        sums[0] += __uint_as_float(words[0]) * v.x;
        sums[1] += __uint_as_float(words[1]) * v.y;
        sums[2] += __uint_as_float(words[2]) * v.z;
        sums[3] += __uint_as_float(words[3]) * v.w;
    } else {
        for (int j = 0; j < 2; ++j) {
            const float4 v = x[j * plane];
            sums[0] += half_of<type>(words[2 * j], 0) * v.x;
            sums[1] += half_of<type>(words[2 * j], 1) * v.y;
            sums[2] += half_of<type>(words[2 * j + 1], 0) * v.z;
            sums[3] += half_of<type>(words[2 * j + 1], 1) * v.w;
        }
    }
}

// x times the norm's weight, for the columns from `begin` on, as one plane of float4 for each quarter of a load:
// lanes that read their own load then read side by side. Returns the thread's part of the sum of squares of x.
template<DType type>
__device__ float stage(float4* staged, const RowSource& source, const float* x, int64_t begin, bool aligned)
{
    constexpr int elements = elements_of_load<type>, quarters = elements / 4, plane = tile_cols / elements;
    const int64_t left = source.cols - begin, loaded = (left + elements - 1) / elements * elements;
    float squares = 0;
    for (int i = static_cast<int>(threadIdx.x); i < tile_cols / 4 && 4 * i < loaded; i += threads) {
        float4 v = four_of(x, begin + 4 * i, source.cols, aligned);
        if (source.norm.weight != nullptr) {
            squares += sum_of_squares(v);
            v = times(v, four_of(source.norm.weight, begin + 4 * i, source.cols, aligned));
        }
        staged[i % quarters * plane + i / quarters] = v;
    }
    return squares;
}

// `depth` loads of each row, all of them before the first is used; without `whole` they may end early.
template<DType type, int lines, int depth, bool whole>
__device__ void add_loads(float (&sums)[lines][4], const WeightRow (&rows)[lines], const float4* staged,
                          int64_t first_chunk, int chunk, int chunks)
{
    constexpr int plane = tile_cols / elements_of_load<type>;
    Load<type> loads[depth][lines];
    for (int d = 0; d < depth; ++d)
        for (int line = 0; line < lines; ++line)
            if (whole || chunk + d * warp_lanes < chunks)
                loads[d][line].from(rows[line], first_chunk + chunk + d * warp_lanes);
    for (int d = 0; d < depth; ++d)
        for (int line = 0; line < lines; ++line)
            if (whole || chunk + d * warp_lanes < chunks)
                add_products<type>(sums[line], loads[d][line], staged + chunk + d * warp_lanes, plane, d);
}

// The products of one tile: `lines` rows of the weight by the staged columns.
template<DType type, int lines>
__device__ void add_tile(float (&sums)[lines][4], const WeightRow (&rows)[lines], const float4* staged,
                         int64_t first_chunk, int chunks)
{
    constexpr int depth = loads_in_flight / lines;
    static_assert(depth % 4 == 0, "where a load is summed must not depend on the depth");
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    int chunk = 0;
    for (; chunk + depth * warp_lanes <= chunks; chunk += depth * warp_lanes)
        add_loads<type, lines, depth, true>(sums, rows, staged, first_chunk, chunk + lane, chunks);
    if (chunk < chunks) add_loads<type, lines, depth, false>(sums, rows, staged, first_chunk, chunk + lane, chunks);
}

// The sums of `lines` rows of the weight and row `r` of the source, without the norm's factor; `factor` gets it.
template<DType type, int lines>
__device__ void dot_rows(const GemvArgs& args, int64_t r, const WeightRow (&rows)[lines], float (&dots)[lines],
                         float& factor)
{
    constexpr int elements = elements_of_load<type>;
    auto* staged = dynamic_shared<float4>();
    const RowSource& source = args.x;
    const float* x = source.x + r * source.cols;
    float sums[lines][4] = {}, squares = 0;
    for (int64_t begin = 0; begin < source.cols; begin += tile_cols) {
        __syncthreads();
        squares += stage<type>(staged, source, x, begin, args.aligned);
        __syncthreads();
        const int64_t cols = source.cols - begin < tile_cols ? source.cols - begin : tile_cols;
        add_tile<type, lines>(sums, rows, staged, begin / elements,
                              static_cast<int>((cols + elements - 1) / elements));
    }
    factor = 1.0f;
    if (source.norm.weight != nullptr) factor = norm_factor(block_sum(squares), source.cols, source.norm.epsilon);
    for (int line = 0; line < lines; ++line)
        dots[line] = warp_sum((sums[line][0] + sums[line][1]) + (sums[line][2] + sums[line][3]));
}

// One warp per `abreast` rows of y, one row of blocks per row of x.
template<DType type, int abreast>
__global__ void __launch_bounds__(threads) gemv_kernel(GemvArgs args)
{
    const int64_t first = (blockIdx.x * static_cast<int64_t>(warps) + threadIdx.x / warp_lanes) * abreast;
    WeightRow rows[abreast];
    for (int i = 0; i < abreast; ++i)
        rows[i] = weight_row<type>(args.weight, min(first + i, args.weight.rows - 1));
    for (int64_t r = blockIdx.y; r < args.x.rows; r += gridDim.y) {
        float dots[abreast], factor;
        dot_rows<type, abreast>(args, r, rows, dots, factor);
        if (threadIdx.x % warp_lanes != 0) continue;
        float* y = args.y + r * args.y_stride;
        for (int i = 0; i < abreast; ++i) {
            const int64_t n = first + i;
            if (n >= args.weight.rows) break;
            const float value = dots[i] * factor + (args.bias != nullptr ? args.bias[n] : 0.0f);
            y[n] = args.accumulate ? y[n] + value : value;
        }
    }
}

// One warp per element of the hidden row: gate row and up row side by side.
template<DType type>
__global__ void __launch_bounds__(threads) gated_gemv_kernel(GemvArgs args)
{
    const int64_t hidden = args.weight.rows / 2;
    const int64_t i = blockIdx.x * static_cast<int64_t>(warps) + threadIdx.x / warp_lanes;
    const int64_t gate = min(i, hidden - 1);
    const WeightRow rows[2] = {weight_row<type>(args.weight, gate), weight_row<type>(args.weight, hidden + gate)};
    for (int64_t r = blockIdx.y; r < args.x.rows; r += gridDim.y) {
        float dots[2], factor;
        dot_rows<type, 2>(args, r, rows, dots, factor);
        if (threadIdx.x % warp_lanes == 0 && i < hidden)
            args.y[r * args.y_stride + i] = silu(dots[0] * factor) * (dots[1] * factor);
    }
}

// As many parts from `first` on as one launch takes.
PartRows parts_from(std::span<const WeightPlanes> parts, size_t first)
{
    PartRows rows;
    for (size_t p = first; p < parts.size() && rows.count < most_parts && parts[p].type == parts[first].type; ++p) {
        rows.rows += parts[p].rows;
        rows.parts[rows.count++] = {parts[p].values, parts[p].scales, parts[p].stride, rows.rows};
    }
    return rows;
}

Launch shape_of(const GemvArgs& args, int64_t warp_count)
{
    constexpr int64_t most_grid_rows = 32768;
    return {.grid = dim3(static_cast<unsigned>((warp_count + warps - 1) / warps),
                         static_cast<unsigned>(std::min(args.x.rows, most_grid_rows))),
            .block = dim3(threads),
            .shared = tile_cols * sizeof(float)};
}

// Calls use with the type as a constant, quantised ones included.
template<class Use>
void with_weight_type(DType type, Use&& use)
{
    if (type == DType::Q8_0) return use(std::integral_constant<DType, DType::Q8_0>());
    with_type(type, use);
}

// Two rows abreast read x half as often; few rows need every warp to keep the memory busy.
template<DType type>
void launch_gemv(const GemvArgs& args, CudaContext& context)
{
    constexpr int64_t busy_warps = 32;
    const int64_t rows = args.weight.rows;
    if (rows / 2 >= busy_warps * context.multiprocessors())
        launch(context, shape_of(args, (rows + 1) / 2), gemv_kernel<type, 2>, args);
    else
        launch(context, shape_of(args, rows), gemv_kernel<type, 1>, args);
}

GemvArgs source_args(const RowSource& x)
{
    GemvArgs args;
    args.x = x;
    args.aligned = in_fours(x.x, x.cols) && (x.norm.weight == nullptr || in_fours(x.norm.weight, x.cols));
    return args;
}

} // namespace

void gemv(const Product& product, CudaContext& context)
{
    const auto parts = product.weight->parts();
    GemvArgs args = source_args(product.x);
    args.y_stride = product.weight->rows();
    args.accumulate = product.accumulate;
    int64_t done = 0;
    for (size_t p = 0; p < parts.size(); p += static_cast<size_t>(args.weight.count)) {
        args.weight = parts_from(parts, p);
        args.y = product.y + done;
        args.bias = product.bias != nullptr ? product.bias + done : nullptr;
        with_weight_type(parts[p].type, [&]<DType type>(std::integral_constant<DType, type>) {
            launch_gemv<type>(args, context);
        });
        done += args.weight.rows;
    }
}

bool gated_gemv(const RowSource& x, const CudaWeight& gate_up, float* hidden, CudaContext& context)
{
    const auto parts = gate_up.parts();
    GemvArgs args = source_args(x);
    args.weight = parts_from(parts, 0);
    if (args.weight.count != static_cast<int>(parts.size())) return false;
    args.y = hidden;
    args.y_stride = args.weight.rows / 2;
    with_weight_type(parts[0].type, [&]<DType type>(std::integral_constant<DType, type>) {
        launch(context, shape_of(args, args.weight.rows / 2), gated_gemv_kernel<type>, args);
    });
    return true;
}

} // namespace palimpsest::kernels::cuda
