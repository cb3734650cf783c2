#include "kernels/cuda/linear/gemv.h"

#include <algorithm>

#include "kernels/cuda/device/block_reduce.h"
#include "kernels/cuda/linear/gemv_load.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int warps = 8, threads = warps * warp_lanes;
// Columns of x in shared memory at a time; a wider weight is processed in several tiles.
constexpr int tile_cols = 4096;
// How many loads a lane has in flight. Fewer if a load is a chunk with its scales: it needs more registers, and
// more loads would leave room for fewer warps.
template<DType type>
constexpr int loads_in_flight = is_chunked(type) ? 4 : 8;
constexpr int most_parts = 4;

// Consecutive parts of one type, multiplied in one launch.
struct PartRows {
    struct Part {
        WeightPlanes planes;
        int64_t end_row; // the row after the part's last
    };
    Part parts[most_parts];
    int count = 0;
    int64_t rows = 0;
};

struct GemvArgs {
    PartRows weight;
    RowSource x;
    bool aligned = false; // float4 loads of x and of the norm's weight are aligned
    const float* bias = nullptr;
    float* y = nullptr;
    int64_t y_stride = 0;
    bool accumulate = false;
    Activation activation = Activation::Silu; // for gated_gemv
};

template<DType type>
__device__ PlaneRow weight_row(const PartRows& weight, int64_t row)
{
    int p = 0;
    int64_t first = 0;
    while (p + 1 < weight.count && row >= weight.parts[p].end_row)
        first = weight.parts[p++].end_row;
    return plane_row<type>(weight.parts[p].planes, row - first);
}

// A tile of x in shared memory: one plane of float4 per four elements of a load, then the sums of the groups. For
// chunked types a plane is one float4 longer, so that threads that store to eight planes at once use different
// banks.
template<DType type>
struct Tile {
    static constexpr int elements = elements_of_load<type>, quarters = elements / 4;
    static constexpr int plane = tile_cols / elements + (is_chunked(type) ? 1 : 0);
    static constexpr int groups = coding_of(type).has_offset() ? coding_of(type).groups() : 0; // per load
    static constexpr size_t bytes =
        quarters * plane * sizeof(float4) + groups * (tile_cols / elements) * sizeof(float);

    __device__ static float* sums(float4* staged) { return reinterpret_cast<float*>(staged + quarters * plane); }
    __device__ static StagedLoad load(float4* staged, int at) { return {staged + at, sums(staged) + at * groups}; }
};

// Stages x times the norm's weight, columns from `begin` on, in the planes of Tile: the same float4 of neighbouring
// loads is adjacent, so the lanes of a warp read neighbouring float4. Returns the thread's part of the sum of
// squares of x.
template<DType type>
__device__ float stage(float4* staged, const RowSource& source, const float* x, int64_t begin, bool aligned)
{
    constexpr int elements = Tile<type>::elements, quarters = Tile<type>::quarters, plane = Tile<type>::plane;
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

// Sums x over each group of a tile; a type's offsets are multiplied by these sums.
template<DType type>
__device__ void sum_groups(float4* staged, int64_t cols)
{
    constexpr int words = coding_of(type).group / 4, groups = Tile<type>::groups;
    const int count = static_cast<int>(cols / coding_of(type).group);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) {
        const float4* x = staged + i / groups + i % groups * words * Tile<type>::plane;
        float sum = 0;
        for (int j = 0; j < words; ++j) {
            const float4 v = x[j * Tile<type>::plane];
            sum += (v.x + v.y) + (v.z + v.w);
        }
        Tile<type>::sums(staged)[i] = sum;
    }
}

// The loads that a lane has in flight, of `lines` rows of the weight. Beyond the end of a tile, a lane repeats the
// last load and does not add it.
template<DType type, int lines>
struct Batch {
    static constexpr int depth = loads_in_flight<type> / lines, per_warp = depth * warp_lanes; // loads
    static_assert(depth % 4 == 0 || (is_chunked(type) && lines == 2),
                  "load d goes to sum d % 4: a type with several depths needs multiples of 4");
    Load<type> loads[depth][lines];

    // Starts the loads from number `first` of the tile on. The tile has `of` loads, and begins at load `tile_begin`
    // of each row.
    __device__ void load(const PlaneRow (&rows)[lines], int64_t tile_begin, int first, int of)
    {
        first += static_cast<int>(threadIdx.x) % warp_lanes;
        unrolled<depth * lines>([&](int i) {
            const int at = min(first + i / lines * warp_lanes, of - 1);
            loads[i / lines][i % lines].from(rows[i % lines], tile_begin + at);
        });
    }

    template<bool whole>
    __device__ void add(float (&sums)[lines][4], float4* staged, int first, int of) const
    {
        first += static_cast<int>(threadIdx.x) % warp_lanes;
        unrolled<depth>([&](int d) {
            const int at = first + d * warp_lanes;
            if (!whole && at >= of) return;
            const StagedLoad x = Tile<type>::load(staged, at);
            if constexpr (is_chunked(type))
                add_chunks<type>(sums, loads[d], x, Tile<type>::plane, d);
            else
                unrolled<lines>(
                    [&](int line) { add_products<type>(sums[line], loads[d][line], x.x, Tile<type>::plane, d); });
        });
    }
};

// Adds to `sums` the products of `lines` rows of the weight with the tile of x in shared memory. `batch` already
// holds the first vectors of the rows.
template<DType type, int lines>
__device__ void add_tile(float (&sums)[lines][4], const PlaneRow (&rows)[lines], Batch<type, lines>& batch,
                         float4* staged, int64_t tile_begin, int loads)
{
    constexpr int step = Batch<type, lines>::per_warp;
    int first = 0;
    for (; first + step <= loads; first += step) {
        if (first > 0) batch.load(rows, tile_begin, first, loads);
        batch.template add<true>(sums, staged, first, loads);
    }
    if (first == loads) return;
    if (first > 0) batch.load(rows, tile_begin, first, loads);
    batch.template add<false>(sums, staged, first, loads);
}

// Computes the dot products of `lines` rows of the weight with row `r` of the source, without the norm's factor,
// which is returned in `factor`. The first loads of each tile are in flight while x is staged; those of the first
// tile even while earlier kernels end.
template<DType type, int lines>
__device__ void dot_rows(const GemvArgs& args, int64_t r, const PlaneRow (&rows)[lines], float (&dots)[lines],
                         float& factor)
{
    constexpr int elements = elements_of_load<type>;
    auto* staged = dynamic_shared<float4>();
    const RowSource& source = args.x;
    const float* x = source.x + r * source.cols;
    float sums[lines][4] = {}, squares = 0;
    for (int64_t begin = 0; begin < source.cols; begin += tile_cols) {
        const int64_t cols = source.cols - begin < tile_cols ? source.cols - begin : tile_cols;
        const auto loads = static_cast<int>((cols + elements - 1) / elements);
        Batch<type, lines> batch;
        batch.load(rows, begin / elements, 0, loads);
        await_earlier_kernels();
        __syncthreads();
        squares += stage<type>(staged, source, x, begin, args.aligned);
        __syncthreads();
        if constexpr (Tile<type>::groups > 0) {
            sum_groups<type>(staged, cols);
            __syncthreads();
        }
        add_tile<type, lines>(sums, rows, batch, staged, begin / elements, loads);
    }
    factor = 1.0f;
    if (source.norm.weight != nullptr) factor = norm_factor(block_sum(squares), source.cols, source.norm.epsilon);
    for (int line = 0; line < lines; ++line)
        dots[line] = warp_sum((sums[line][0] + sums[line][1]) + (sums[line][2] + sums[line][3]));
}

// y is [rows, W.rows]. One warp per `abreast` neighbouring columns of y; blockIdx.y: the first row of x and y.
template<DType type, int abreast>
__global__ void __launch_bounds__(threads) gemv_kernel(GemvArgs args)
{
    let_next_kernel_begin();
    const int64_t first = (blockIdx.x * static_cast<int64_t>(warps) + threadIdx.x / warp_lanes) * abreast;
    PlaneRow rows[abreast];
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

// One warp per element of the hidden row: it multiplies the gate row and the up row together.
template<DType type>
__global__ void __launch_bounds__(threads) gated_gemv_kernel(GemvArgs args)
{
    let_next_kernel_begin();
    const int64_t hidden = args.weight.rows / 2;
    const int64_t i = blockIdx.x * static_cast<int64_t>(warps) + threadIdx.x / warp_lanes;
    const int64_t gate = min(i, hidden - 1);
    const PlaneRow rows[2] = {weight_row<type>(args.weight, gate), weight_row<type>(args.weight, hidden + gate)};
    for (int64_t r = blockIdx.y; r < args.x.rows; r += gridDim.y) {
        float dots[2], factor;
        dot_rows<type, 2>(args, r, rows, dots, factor);
        if (threadIdx.x % warp_lanes == 0 && i < hidden)
            args.y[r * args.y_stride + i] = activated(args.activation, dots[0] * factor) * (dots[1] * factor);
    }
}

// Returns as many parts from `first` on as one launch can process.
PartRows parts_from(std::span<const WeightPlanes> parts, size_t first)
{
    PartRows rows;
    for (size_t p = first; p < parts.size() && rows.count < most_parts && parts[p].type == parts[first].type; ++p) {
        rows.rows += parts[p].rows;
        rows.parts[rows.count++] = {parts[p], rows.rows};
    }
    return rows;
}

template<DType type>
Launch shape_of(const GemvArgs& args, int64_t warp_count)
{
    constexpr int64_t most_grid_rows = 32768;
    return {.grid = dim3(static_cast<unsigned>((warp_count + warps - 1) / warps),
                         static_cast<unsigned>(std::min(args.x.rows, most_grid_rows))),
            .block = dim3(threads),
            .shared = Tile<type>::bytes,
            .overlaps = true};
}

// Calls use with the type as a constant, quantised ones included.
template<class Use>
void with_weight_type(DType type, Use&& use)
{
    if (is_chunked(type)) return with_chunked_type(type, use);
    if (type == DType::Q8_0) return use(std::integral_constant<DType, DType::Q8_0>());
    with_type(type, use);
}

// With two rows per warp, x is read half as often; if there are few rows, more warps are needed to saturate memory
// bandwidth. Chunked types always use two rows, because unpacking limits them as well.
template<DType type>
void launch_gemv(const GemvArgs& args, CudaContext& context)
{
    constexpr int64_t busy_warps = 32;
    const int64_t rows = args.weight.rows;
    if (is_chunked(type) || rows / 2 >= busy_warps * context.multiprocessors())
        launch(context, shape_of<type>(args, (rows + 1) / 2), gemv_kernel<type, 2>, args);
    else if constexpr (!is_chunked(type))
        launch(context, shape_of<type>(args, rows), gemv_kernel<type, 1>, args);
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

bool gated_gemv(const RowSource& x, const CudaWeight& gate_up, Activation activation, float* hidden,
                CudaContext& context)
{
    const auto parts = gate_up.parts();
    GemvArgs args = source_args(x);
    args.weight = parts_from(parts, 0);
    if (args.weight.count != static_cast<int>(parts.size())) return false;
    args.activation = activation;
    args.y = hidden;
    args.y_stride = args.weight.rows / 2;
    with_weight_type(parts[0].type, [&]<DType type>(std::integral_constant<DType, type>) {
        launch(context, shape_of<type>(args, args.weight.rows / 2), gated_gemv_kernel<type>, args);
    });
    return true;
}

} // namespace palimpsest::kernels::cuda
