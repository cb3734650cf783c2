#include "kernels/cuda/linear/multiply.h"

#include "kernels/cuda/device/async_copy.h"
#include "kernels/cuda/device/mma.h"
#include "kernels/cuda/device/unroll.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr int step_vectors = 4; // 16 bytes each; together operand_step elements
static_assert(step_vectors * 8 == operand_step);

struct Multiply {
    Operand a, b;
    ProductRows to;
};

__device__ void finish_element(const Multiply& args, int64_t r, int64_t n, float product)
{
    if (args.a.scales != nullptr) product *= args.a.scales[r];
    if (args.b.scales != nullptr) product *= args.b.scales[n];
    if (args.to.bias != nullptr) product += args.to.bias[n];
    float& y = args.to.y[r * args.to.stride + n];
    y = args.to.accumulate ? y + product : product;
}

// A block's tile of the product, `m` by `n`, divided into warp tiles of (m / warps_m) by (n / warps_n). Every
// element is summed in the same order for every tile size, so the choice does not change the bits.
template<int m_, int n_, int warps_m_, int warps_n_>
struct Tile {
    static constexpr int m = m_, n = n_, warps_m = warps_m_, warps_n = warps_n_;
    static constexpr int threads = warps_m * warps_n * warp_lanes;
    static constexpr int warp_m = m / warps_m, warp_n = n / warps_n;
    static constexpr int m_fragments = warp_m / mma_m, n_fragments = warp_n / mma_n;
    static_assert(n_fragments % 2 == 0); // add_slice loads two at a time
    static constexpr int stages = 3;
    static constexpr int stage_bytes = (m + n) * step_vectors * 16;
};
using Large = Tile<128, 128, 2, 4>;
using Small = Tile<64, 64, 2, 2>;

// Index of a 16-byte vector in a tile. Swizzled: one vector column of eight rows covers all banks of shared memory
// once.
__device__ int swizzled(int row, int vector)
{
    return row * step_vectors + (vector ^ (row >> 1 & 3));
}

// Copies one step's columns of rows [first, first + rows) to shared memory. A row past the end is replaced by the
// last row; its results are not stored.
template<class Shape>
__device__ void fetch(Bytes16* tile, int rows, const Operand& from, int64_t first, int64_t step)
{
    const auto* values = static_cast<const uint16_t*>(from.values) + step * operand_step;
    for (int i = static_cast<int>(threadIdx.x); i < rows * step_vectors; i += Shape::threads) {
        const int row = i / step_vectors, vector = i % step_vectors;
        const int64_t source = min(first + row, from.rows - 1);
        copy16(tile + swizzled(row, vector), values + source * from.stride + vector * 8);
    }
}

template<DType type, class Shape>
struct WarpTile {
    float sums[Shape::m_fragments][Shape::n_fragments][4] = {};
    int first_m, first_n; // within the block's tile

    __device__ WarpTile()
    {
        const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
        first_m = warp / Shape::warps_n * Shape::warp_m;
        first_n = warp % Shape::warps_n * Shape::warp_n;
    }

    // Adds the products of one step, whose operands are in shared memory.
    __device__ void add(const Bytes16* a, const Bytes16* b)
    {
        for (int k = 0; k < operand_step / mma_k; ++k)
            add_slice(a, b, 2 * k);
    }

    __device__ void add_slice(const Bytes16* a, const Bytes16* b, int vector)
    {
        const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
        uint32_t of_a[Shape::m_fragments][4], of_b[Shape::n_fragments][2];
        for (int i = 0; i < Shape::m_fragments; ++i)
            load_matrices(of_a[i], a + swizzled(first_m + i * mma_m + lane % 16, vector + lane / 16));
        for (int i = 0; i < Shape::n_fragments; i += 2) {
            uint32_t two[4];
            load_matrices(two, b + swizzled(first_n + i * mma_n + lane % 8 + lane / 16 * 8, vector + lane / 8 % 2));
            of_b[i][0] = two[0], of_b[i][1] = two[1];
            of_b[i + 1][0] = two[2], of_b[i + 1][1] = two[3];
        }
        unrolled<Shape::m_fragments>([&](int i) {
            unrolled<Shape::n_fragments>([&](int j) { add_product<type>(sums[i][j], of_a[i], of_b[j]); });
        });
    }

    __device__ void store(const Multiply& args, int64_t block_m, int64_t block_n) const
    {
        const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
        unrolled<Shape::m_fragments * Shape::n_fragments>([&](int fragment) {
            const int i = fragment / Shape::n_fragments, j = fragment % Shape::n_fragments;
            unrolled<4>([&](int e) {
                const int64_t r = block_m + first_m + i * mma_m + lane / 4 + e / 2 * 8;
                const int64_t n = block_n + first_n + j * mma_n + lane % 4 * 2 + e % 2;
                if (r < args.a.rows && n < args.b.rows) finish_element(args, r, n, sums[i][j][e]);
            });
        });
    }
};

// One block per tile. Consecutive blocks multiply the same rows of the weight, so that each row is read from memory
// once.
template<DType type, class Shape>
__global__ void __launch_bounds__(Shape::threads) multiply_kernel(Multiply args)
{
    auto* shared = dynamic_shared<Bytes16>();
    const int64_t block_m = blockIdx.x * static_cast<int64_t>(Shape::m);
    const int64_t block_n = blockIdx.y * static_cast<int64_t>(Shape::n);
    const int64_t steps = (args.a.cols + operand_step - 1) / operand_step;
    const auto tile_of = [&](int64_t step) {
        return shared + step % Shape::stages * (Shape::stage_bytes / static_cast<int>(sizeof(Bytes16)));
    };
    const auto fetch_step = [&](int64_t step) {
        if (step < steps) {
            fetch<Shape>(tile_of(step), Shape::m, args.a, block_m, step);
            fetch<Shape>(tile_of(step) + Shape::m * step_vectors, Shape::n, args.b, block_n, step);
        }
        commit(); // also if nothing was copied: wait() counts groups
    };
    for (int step = 0; step < Shape::stages - 1; ++step)
        fetch_step(step);
    WarpTile<type, Shape> products;
    for (int64_t step = 0; step < steps; ++step) {
        wait<Shape::stages - 2>();
        __syncthreads(); // this step has arrived, and the stage that is filled next is no longer read
        fetch_step(step + Shape::stages - 1);
        products.add(tile_of(step), tile_of(step) + Shape::m * step_vectors);
    }
    products.store(args, block_m, block_n);
}

// F32: a block computes 64 x 64 elements, a thread 4 x 4, in ascending k. Partial sums are added to the totals
// every 256 columns, because rounding errors grow with the length of a sum.
struct F32Tile {
    static constexpr int side = 64, depth = 16, per_thread = 4;
    static constexpr int threads = (side / per_thread) * (side / per_thread);
    static constexpr int sum_columns = 256;
    static constexpr int pitch = side + 4; // floats per k, padded against bank conflicts
};

__device__ void fetch_f32(float (*tile)[F32Tile::pitch], const Operand& from, int64_t first, int64_t k)
{
    for (int i = static_cast<int>(threadIdx.x); i < F32Tile::side * F32Tile::depth; i += F32Tile::threads) {
        const int row = i / F32Tile::depth, column = i % F32Tile::depth;
        const bool inside = first + row < from.rows && k + column < from.cols;
        tile[column][row] =
            inside ? static_cast<const float*>(from.values)[(first + row) * from.stride + k + column] : 0.0f;
    }
}

__global__ void __launch_bounds__(F32Tile::threads) multiply_f32_kernel(Multiply args)
{
    constexpr int per = F32Tile::per_thread, across = F32Tile::side / per;
    __shared__ float a[F32Tile::depth][F32Tile::pitch], b[F32Tile::depth][F32Tile::pitch];
    const int64_t block_m = blockIdx.x * static_cast<int64_t>(F32Tile::side);
    const int64_t block_n = blockIdx.y * static_cast<int64_t>(F32Tile::side);
    const int m = static_cast<int>(threadIdx.x) / across * per, n = static_cast<int>(threadIdx.x) % across * per;
    float totals[per][per] = {}, sums[per][per] = {};
    for (int64_t k = 0; k < args.a.cols; k += F32Tile::depth) {
        __syncthreads();
        fetch_f32(a, args.a, block_m, k);
        fetch_f32(b, args.b, block_n, k);
        __syncthreads();
        for (int d = 0; d < F32Tile::depth; ++d)
            for (int i = 0; i < per; ++i)
                for (int j = 0; j < per; ++j)
                    sums[i][j] = fmaf(a[d][m + i], b[d][n + j], sums[i][j]);
        if (k % F32Tile::sum_columns == F32Tile::sum_columns - F32Tile::depth || k + F32Tile::depth >= args.a.cols)
            unrolled<per * per>([&](int e) {
                totals[e / per][e % per] += sums[e / per][e % per];
                sums[e / per][e % per] = 0;
            });
    }
    unrolled<per * per>([&](int e) {
        const int64_t r = block_m + m + e / per, c = block_n + n + e % per;
        if (r < args.a.rows && c < args.b.rows) finish_element(args, r, c, totals[e / per][e % per]);
    });
}

constexpr int finish_threads = 256;

__global__ void __launch_bounds__(finish_threads) finish_kernel(Multiply args, PlainProduct product)
{
    const int64_t n = blockIdx.x * static_cast<int64_t>(finish_threads) + threadIdx.x;
    for (int64_t r = blockIdx.y; n < args.b.rows && r < args.a.rows; r += gridDim.y)
        finish_element(args, r, n, product.values[r * product.stride + n]);
}

dim3 tiles(const Multiply& args, int64_t m, int64_t n)
{
    return dim3(static_cast<unsigned>((args.a.rows + m - 1) / m), static_cast<unsigned>((args.b.rows + n - 1) / n));
}

template<DType type, class Shape>
void launch_tiles(const Multiply& args, CudaContext& context)
{
    launch(context,
           {.grid = tiles(args, Shape::m, Shape::n),
            .block = dim3(Shape::threads),
            .shared = Shape::stages * Shape::stage_bytes},
           multiply_kernel<type, Shape>, args);
}

// Large tiles read the least memory, but only pay off if there is at least one per multiprocessor.
template<DType type>
void multiply_narrow(const Multiply& args, CudaContext& context)
{
    const dim3 large = tiles(args, Large::m, Large::n);
    if (static_cast<int64_t>(large.x) * large.y >= context.multiprocessors() && args.a.rows > Small::m)
        launch_tiles<type, Large>(args, context);
    else
        launch_tiles<type, Small>(args, context);
}

} // namespace

void multiply(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context)
{
    const Multiply args{a, b, to};
    if (a.type == DType::F32)
        launch(context, {.grid = tiles(args, F32Tile::side, F32Tile::side), .block = dim3(F32Tile::threads)},
               multiply_f32_kernel, args);
    else if (a.type == DType::F16)
        multiply_narrow<DType::F16>(args, context);
    else
        multiply_narrow<DType::BF16>(args, context);
}

void finish(const Operand& a, const Operand& b, const ProductRows& to, const PlainProduct& product,
            CudaContext& context)
{
    constexpr int64_t most_grid_rows = 32768;
    const dim3 grid(static_cast<unsigned>((b.rows + finish_threads - 1) / finish_threads),
                    static_cast<unsigned>(a.rows < most_grid_rows ? a.rows : most_grid_rows));
    launch(context, {.grid = grid, .block = dim3(finish_threads)}, finish_kernel, Multiply{a, b, to}, product);
}

} // namespace palimpsest::kernels::cuda
