// Programmatic dependent launch on the emulator: a kernel that may overlap earlier kernels begins before they run,
// so its result is wrong if it does not wait for them.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/simt/stream_capture.h"

namespace {

using List = std::vector<uint32_t>;
constexpr uint32_t blocks = 4, threads = 64, count = blocks * threads;

class Stream {
public:
    Stream() { REQUIRE(cudaStreamCreate(&stream_) == cudaSuccess); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { cudaStreamDestroy(stream_); }
    operator cudaStream_t() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

// One word per thread, in device memory.
class Words {
public:
    Words() { REQUIRE(cudaMalloc(&data_, count * sizeof(uint32_t)) == cudaSuccess); }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    ~Words() { cudaFree(data_); }
    operator uint32_t*() const { return data_; }
    void fill(uint32_t x) const { std::fill_n(data_, count, x); }
    List all() const { return {data_, data_ + count}; }

private:
    uint32_t* data_ = nullptr;
};

template<class... Parameters, class... Arguments>
void launch(cudaStream_t stream, bool overlaps, void (*kernel)(Parameters...), const Arguments&... arguments)
{
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(2, blocks / 2);
    config.blockDim = threads;
    config.dynamicSmemBytes = threads * sizeof(uint32_t);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = overlaps ? 1 : 0;
    REQUIRE(cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess);
}

using Operations = std::function<void(cudaStream_t)>;

void run_as_graph(const Operations& operations)
{
    const Stream stream;
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    operations(stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
    REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
    const struct Given {
        cudaGraphExec_t given;
        ~Given() { cudaGraphExecDestroy(given); }
    } given{exec};
    const cudaError_t status = cudaGraphLaunch(exec, stream); // not inside REQUIRE, which would catch Misuse
    REQUIRE(status == cudaSuccess);
}

void run_late(const Operations& operations)
{
    const Stream stream;
    const struct Late {
        Late() { simt::delay_work(true); }
        ~Late()
        {
            simt::forget_captures();
            simt::delay_work(false);
        }
    } late;
    operations(stream);
    const cudaError_t status = cudaStreamSynchronize(stream);
    REQUIRE(status == cudaSuccess);
}

void run_eagerly(const Operations& operations)
{
    const Stream stream;
    operations(stream);
}

// Calls body(run) with both ways in which kernels begin early (graphs and delayed work), in both orders of threads
// and blocks.
void in_every_way(const std::function<void(void (*run)(const Operations&))>& body)
{
    for (const simt::Order order : {simt::Order::Ascending, simt::Order::Descending})
        for (void (*run)(const Operations&) : {run_as_graph, run_late}) {
            INFO("order " << static_cast<int>(order) << (run == run_late ? ", late" : ", as a graph"));
            simt::set_order(order);
            body(run);
        }
    simt::set_order(simt::Order::Ascending);
}

std::string misuse_of(const std::function<void()>& body)
{
    try {
        body();
    } catch (const simt::Misuse& misuse) {
        return misuse.what();
    }
    return "nothing was wrong";
}

__device__ unsigned index()
{
    return (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void set(uint32_t* to, uint32_t x)
{
    to[index()] = x;
}

// to = 3 * from + 1; each thread stores the value that its neighbour loaded.
__global__ void obeys(uint32_t* to, const uint32_t* from, bool lets_next)
{
    auto* const shared = static_cast<uint32_t*>(simt::block_shared());
    if (lets_next) simt::let_next_kernel_begin();
    const uint32_t one = index() - threadIdx.x; // differs between blocks, and must keep its value during the wait
    shared[threadIdx.x] = threadIdx.x;
    simt::await_earlier_kernels();
    const unsigned other = shared[threadIdx.x] ^ 1;
    __syncthreads();
    shared[threadIdx.x] = 3 * from[one + threadIdx.x];
    simt::await_earlier_kernels(); // a second wait, as for another tile
    __syncthreads();
    to[one + other] = shared[other] + 1;
}

// Half of the threads of a block wait for earlier kernels, the others wait at a barrier for that half.
__global__ void half_obeys(uint32_t* to, const uint32_t* from)
{
    if (threadIdx.x < blockDim.x / 2) simt::await_earlier_kernels();
    __syncthreads();
    to[index()] = from[index()] + 1;
}

__global__ void reads_too_early(uint32_t* to, const uint32_t* from)
{
    const uint32_t x = from[index()];
    simt::await_earlier_kernels();
    to[index()] = x + 1;
}

__global__ void writes_too_early(uint32_t* to, uint32_t x)
{
    to[index()] = x;
    simt::await_earlier_kernels();
}

__global__ void never_waits(uint32_t* to)
{
    to[index()] = 1;
}

__global__ void throws(uint32_t* to)
{
    if (to[0] != 77) throw 17;
}

__global__ void waits_in_vain(uint32_t* to)
{
    if (threadIdx.x == 5) return;
    __syncthreads();
    to[index()] = 1;
}

// Whether the word belongs to a block that starts early: the first or the last.
bool begun_early(uint32_t i)
{
    return i < threads || i >= count - threads;
}

TEST_CASE("a kernel that waits for earlier kernels may begin early")
{
    in_every_way([](void (*run)(const Operations&)) {
        Words x, y;
        x.fill(1);
        y.fill(2);
        run([&](cudaStream_t stream) {
            launch(stream, false, set, x, 5u);
            launch(stream, true, obeys, y, x, true);
        });
        CHECK(y.all() == List(count, 16));
        run([&](cudaStream_t stream) {
            launch(stream, false, set, x, 6u);
            launch(stream, true, half_obeys, y, x);
        });
        CHECK(y.all() == List(count, 7));
    });
}

TEST_CASE("a kernel that reads before it waits reads stale values")
{
    in_every_way([](void (*run)(const Operations&)) {
        Words x, y;
        x.fill(1);
        const Operations operations = [&](cudaStream_t stream) {
            launch(stream, false, set, x, 5u);
            launch(stream, true, reads_too_early, y, x);
        };
        run(operations);
        for (uint32_t i = 0; i < count; ++i)
            CHECK(y.all()[i] == (begun_early(i) ? 2u : 6u));
        x.fill(1);
        run_eagerly(operations);
        CHECK(y.all() == List(count, 6));
    });
}

TEST_CASE("what a kernel writes before it waits is read and overwritten by earlier kernels")
{
    in_every_way([](void (*run)(const Operations&)) {
        Words x, y;
        x.fill(1);
        run([&](cudaStream_t stream) {
            launch(stream, false, obeys, y, x, false); // reads the words that are written too early
            launch(stream, true, writes_too_early, x, 9u);
        });
        for (uint32_t i = 0; i < count; ++i)
            CHECK(y.all()[i] == (begun_early(i) ? 28u : 4u));
        CHECK(x.all() == List(count, 9));
        run([&](cudaStream_t stream) {
            launch(stream, false, set, x, 5u); // overwrites the words that are written too early
            launch(stream, true, writes_too_early, x, 9u);
        });
        for (uint32_t i = 0; i < count; ++i)
            CHECK(x.all()[i] == (begun_early(i) ? 5u : 9u));
    });
}

TEST_CASE("several kernels in a row begin early if each lets the next one begin")
{
    in_every_way([](void (*run)(const Operations&)) {
        Words x, y, z;
        for (const bool lets_next : {true, false}) {
            CAPTURE(lets_next);
            x.fill(1);
            run([&](cudaStream_t stream) {
                launch(stream, false, set, x, 5u);
                launch(stream, true, obeys, y, x, lets_next);
                launch(stream, true, obeys, z, y, lets_next);
                launch(stream, true, obeys, y, z, lets_next);
                launch(stream, true, obeys, z, y, lets_next);
                launch(stream, true, obeys, y, z, lets_next);
            });
            CHECK(y.all() == List(count, 1336)); // 5 * 3^5 + 1 + 3 + ... + 81
            CHECK(z.all() == List(count, 445));
            x.fill(1);
            run([&](cudaStream_t stream) {
                launch(stream, false, set, x, 5u);
                launch(stream, true, obeys, y, x, lets_next);
                launch(stream, true, reads_too_early, z, x);
            });
            for (uint32_t i = 0; i < count; ++i)
                CHECK(z.all()[i] == (begun_early(i) && lets_next ? 2u : 6u));
        }
    });
}

TEST_CASE("only kernels that directly follow a kernel begin early")
{
    in_every_way([](void (*run)(const Operations&)) {
        Words x, y;
        for (const bool overlaps : {false, true}) {
            x.fill(1);
            run([&](cudaStream_t stream) {
                launch(stream, false, set, x, 5u);
                if (overlaps) REQUIRE(cudaMemsetAsync(x, 0, count * sizeof(uint32_t), stream) == cudaSuccess);
                launch(stream, overlaps, reads_too_early, y, x);
            });
            CHECK(y.all() == List(count, overlaps ? 1 : 6));
        }
    });
}

TEST_CASE("an overlapping kernel that ends without waiting is refused")
{
    in_every_way([](void (*run)(const Operations&)) {
        Words x;
        const std::string misuse = misuse_of([&] {
            run([&](cudaStream_t stream) {
                launch(stream, false, set, x, 5u);
                launch(stream, true, never_waits, x);
            });
        });
        CHECK_THAT(misuse, Catch::Contains("of a kernel that overlaps those before it ends without waiting"));
    });
}

TEST_CASE("a kernel that fails around a waiting kernel does not affect later launches")
{
    in_every_way([](void (*run)(const Operations&)) {
        Words x, y;
        const auto misuse = [&](bool overlaps, auto kernel) {
            return misuse_of([&] {
                run([&](cudaStream_t stream) {
                    launch(stream, false, set, x, 5u);
                    launch(stream, true, obeys, y, x, true);
                    launch(stream, overlaps, kernel, x);
                    launch(stream, true, obeys, y, x, true);
                });
            });
        };
        for (const bool overlaps : {false, true}) {
            CHECK_THAT(misuse(overlaps, waits_in_vain),
                       Catch::Contains("cannot go on") && Catch::Contains("thread 5 has ended"));
            CHECK_THROWS_AS(misuse(overlaps, throws), int);
        }
        run([&](cudaStream_t stream) {
            launch(stream, false, set, x, 5u);
            launch(stream, true, obeys, y, x, true);
        });
        CHECK(y.all() == List(count, 16));
    });
}

} // namespace
