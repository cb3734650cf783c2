// The emulator on which the CUDA kernels are tested: it must compute correct results and report forbidden
// operations in a readable message.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

template<class... Parameters, class... Arguments>
cudaError_t launch(dim3 grid, dim3 block, size_t shared, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

void in_both_orders(const std::function<void()>& body)
{
    for (const simt::Order order : {simt::Order::Ascending, simt::Order::Descending}) {
        INFO("order " << static_cast<int>(order));
        simt::set_order(order);
        body();
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

__device__ float warp_sum(float x)
{
    for (int reach = 16; reach > 0; reach /= 2)
        x += __shfl_xor_sync(all_lanes, x, reach);
    return x;
}

__global__ void block_sums(const float* x, float* sums, int count)
{
    __shared__ float parts[32];
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const float sum = warp_sum(at < count ? x[at] : 0.0f);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const float total = warp_sum(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

TEST_CASE("block sums with barriers and shuffles are correct")
{
    in_both_orders([] {
        for (const unsigned threads : {32u, 96u, 256u, 1024u}) {
            const unsigned blocks = 5, count = blocks * threads - 7;
            std::vector<float> x(count), sums(blocks, std::nanf(""));
            std::mt19937 random(threads);
            for (float& v : x)
                v = static_cast<float>(random() % 1000);
            REQUIRE(launch(blocks, threads, 0, block_sums, x.data(), sums.data(), static_cast<int>(count)) ==
                    cudaSuccess);
            for (unsigned b = 0; b < blocks; ++b) {
                const auto from = x.begin() + b * threads, to = b + 1 < blocks ? from + threads : x.end();
                CHECK(sums[b] == std::accumulate(from, to, 0.0f));
            }
        }
    });
}

__global__ void shuffles(int* out)
{
    const int x = static_cast<int>(threadIdx.x) * 10;
    int* const mine = out + threadIdx.x * 8;
    mine[0] = __shfl_sync(all_lanes, x, 7);
    mine[1] = __shfl_sync(all_lanes, x, 3, 8);
    mine[2] = __shfl_up_sync(all_lanes, x, 2);
    mine[3] = __shfl_down_sync(all_lanes, x, 5);
    mine[4] = __shfl_xor_sync(all_lanes, x, 9);
    mine[5] = static_cast<int>(__ballot_sync(all_lanes, threadIdx.x % 5 == 0));
    mine[6] = __any_sync(all_lanes, threadIdx.x == 31) + 2 * __all_sync(all_lanes, threadIdx.x != 31);
    mine[7] = static_cast<int>(__shfl_down_sync(all_lanes, static_cast<int64_t>(x) << 33, 1, 4) >> 33);
}

TEST_CASE("shuffles and votes return the values that CUDA returns")
{
    in_both_orders([] {
        std::vector<int> out(32 * 8, -1);
        REQUIRE(launch(1, 32, 0, shuffles, out.data()) == cudaSuccess);
        unsigned fives = 0;
        for (unsigned lane = 0; lane < 32; lane += 5)
            fives |= 1u << lane;
        for (int lane = 0; lane < 32; ++lane) {
            CAPTURE(lane);
            const std::vector<int> got(out.begin() + lane * 8, out.begin() + lane * 8 + 8);
            CHECK(got == std::vector<int>{70, (lane / 8 * 8 + 3) * 10, (lane < 2 ? lane : lane - 2) * 10,
                                          (lane < 27 ? lane + 5 : lane) * 10, (lane ^ 9) * 10,
                                          static_cast<int>(fives), 1, (lane % 4 == 3 ? lane : lane + 1) * 10});
        }
    });
}

// Warp w does 3 * w rounds of shuffles, so that warps reach the barrier at very different times.
__global__ void diverging_warps(int* out)
{
    __shared__ int rounds[4];
    const int warp = static_cast<int>(threadIdx.x / 32);
    int x = static_cast<int>(threadIdx.x % 32);
    for (int round = 0; round < warp * 3; ++round)
        x = __shfl_sync(all_lanes, x, (x + 1) & 31);
    if (warp % 2 == 0) {
        __syncwarp();
        x += 1000 * static_cast<int>(__ballot_sync(all_lanes, x == 0) != 0);
    }
    if (threadIdx.x % 32 == 31) rounds[warp] = x;
    __syncthreads();
    out[threadIdx.x] = rounds[3 - warp];
}

TEST_CASE("warps of a block may do different amounts of work between barriers")
{
    in_both_orders([] {
        std::vector<int> out(128, -1);
        REQUIRE(launch(1, 128, 0, diverging_warps, out.data()) == cudaSuccess);
        const auto last_lane = [](int warp) {
            std::vector<int> x(32);
            std::iota(x.begin(), x.end(), 0);
            for (int round = 0; round < warp * 3; ++round) {
                const std::vector<int> before = x;
                for (int& v : x)
                    v = before[static_cast<size_t>((v + 1) & 31)];
            }
            return x[31] + (warp % 2 == 0 && std::count(x.begin(), x.end(), 0) ? 1000 : 0);
        };
        for (int t = 0; t < 128; ++t)
            CHECK(out[static_cast<size_t>(t)] == last_lane(3 - t / 32));
    });
}

// Reverses the block's part of x in dynamic shared memory.
__global__ void reverse(uint32_t* x, uint32_t* not_written)
{
    auto* const shared = static_cast<uint32_t*>(simt::block_shared());
    const unsigned n = blockDim.x * blockDim.y, t = threadIdx.y * blockDim.x + threadIdx.x;
    const unsigned block = blockIdx.z * gridDim.y + blockIdx.y;
    not_written[block * n + t] = shared[t];
    __syncthreads();
    shared[t] = x[block * n + t];
    __syncthreads();
    x[block * n + t] = shared[n - 1 - t];
}

TEST_CASE("dynamic shared memory belongs to one block, and all its bits are set at first")
{
    in_both_orders([] {
        const unsigned n = 24 * 3, blocks = 6;
        std::vector<uint32_t> x(n * blocks), ones(n * blocks);
        std::iota(x.begin(), x.end(), 0u);
        REQUIRE(launch(dim3(1, 2, 3), dim3(24, 3), n * 4, reverse, x.data(), ones.data()) == cudaSuccess);
        for (unsigned i = 0; i < n * blocks; ++i)
            CHECK(x[i] == i / n * n + (n - 1 - i % n));
        CHECK(ones == std::vector<uint32_t>(n * blocks, all_lanes));
    });
}

__global__ void count_up(uint32_t* counter, uint32_t* most)
{
    atomicAdd(counter, threadIdx.x);
    atomicMax(most, blockIdx.x * 7);
}

TEST_CASE("atomics count every thread of every block")
{
    uint32_t counter = 5, most = 0;
    REQUIRE(launch(9, 33, 0, count_up, &counter, &most) == cudaSuccess);
    CHECK(counter == 5 + 9 * 32 * 33 / 2);
    CHECK(most == 56);
}

// Without the barrier, the result depends on the order in which the threads run.
__global__ void neighbours(int* out, bool wait)
{
    auto* const shared = static_cast<int*>(simt::block_shared());
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (wait) __syncthreads();
    out[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}

TEST_CASE("a missing barrier makes the result depend on the order of threads")
{
    for (const bool wait : {true, false}) {
        std::vector<std::vector<int>> results;
        in_both_orders([&] {
            std::vector<int> out(64);
            REQUIRE(launch(1, 64, 64 * 4, neighbours, out.data(), wait) == cudaSuccess);
            results.push_back(out);
        });
        CHECK((results[0] == results[1]) == wait);
    }
}

enum class Wrong { LeavesEarly, OtherBarrier, LaneLeaves, OtherExchange, Mask, Throws };

__global__ void breaks_a_rule(Wrong wrong, unsigned who)
{
    const bool me = threadIdx.x == who;
    if (wrong == Wrong::LeavesEarly && me) return;
    if (wrong == Wrong::Throws && me) throw 17;
    if (wrong == Wrong::OtherBarrier && me)
        __syncthreads();
    else
        __syncthreads();
    if (wrong == Wrong::LaneLeaves && me) return;
    if (wrong == Wrong::OtherExchange && me)
        __syncwarp();
    else
        warp_sum(1.0f);
    if (wrong == Wrong::Mask) __shfl_sync(me ? 1u : all_lanes, 0, 0);
}

TEST_CASE("a barrier that not all threads reach is reported in a sentence")
{
    using Catch::Contains;
    for (const unsigned who : {0u, 5u, 40u, 95u}) {
        const auto message = [&](Wrong wrong) {
            return misuse_of([&] { launch(2, 96, 0, breaks_a_rule, wrong, who); });
        };
        const std::string thread = "thread " + std::to_string(who);
        CHECK_THAT(message(Wrong::LeavesEarly), Contains("block (0, 0, 0) cannot go on") &&
                                                    Contains("waits at the barrier of simt_test.cpp:") &&
                                                    Contains(thread + " has ended"));
        CHECK_THAT(message(Wrong::OtherBarrier), Contains("is at the barrier of simt_test.cpp:") &&
                                                     Contains("while others of its block wait at the one of"));
        CHECK_THAT(message(Wrong::LaneLeaves),
                   Contains("waits at the warp operation of") && Contains(thread + " has ended"));
        CHECK_THAT(message(Wrong::OtherExchange), Contains("while others of its warp wait at the one of"));
        CHECK_THAT(message(Wrong::Mask), Contains("a mask that is not full"));
        CHECK_THROWS_AS(launch(2, 96, 0, breaks_a_rule, Wrong::Throws, who), int);
    }
    // A block that could not continue must not affect the next launch.
    std::vector<float> x(64, 1.0f), sums(1);
    REQUIRE(launch(1, 64, 0, block_sums, x.data(), sums.data(), 64) == cudaSuccess);
    CHECK(sums[0] == 64);
}

TEST_CASE("a warp that is not full cannot exchange values")
{
    std::vector<float> x(40, 1.0f), sums(1);
    CHECK_THAT(misuse_of([&] { launch(1, 40, 0, block_sums, x.data(), sums.data(), 40); }),
               Catch::Contains("whose warp is not full"));
}

__global__ void nothing() {}

TEST_CASE("launches that a device would refuse are refused")
{
    CHECK(launch(0, 32, 0, nothing) == cudaErrorInvalidConfiguration);
    CHECK(launch(1, 1025, 0, nothing) == cudaErrorInvalidConfiguration);
    CHECK(launch(dim3(1, 65536), 32, 0, nothing) == cudaErrorInvalidConfiguration);
    CHECK(launch(1, 32, 49 * 1024, nothing) == cudaErrorInvalidValue);
    const auto* kernel = reinterpret_cast<const void*>(&nothing);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
          cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024) == cudaSuccess);
    CHECK(launch(1, 32, 49 * 1024, nothing) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("device memory is accounted for, has all bits set at first, and can be freed once")
{
    size_t before = 0, during = 0, total = 0;
    REQUIRE(cudaMemGetInfo(&before, &total) == cudaSuccess);
    uint32_t* data = nullptr;
    REQUIRE(cudaMalloc(&data, 1000) == cudaSuccess);
    REQUIRE(cudaMemGetInfo(&during, &total) == cudaSuccess);
    CHECK(before - during == 1000);
    CHECK(reinterpret_cast<uintptr_t>(data) % 256 == 0);
    std::vector<uint32_t> host(250);
    REQUIRE(cudaMemcpy(host.data(), data, 1000, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(host == std::vector<uint32_t>(250, all_lanes));
    CHECK(cudaFree(data) == cudaSuccess);
    CHECK(cudaFree(data) == cudaErrorInvalidValue);
    CHECK(cudaMalloc(&data, size_t{1} << 60) == cudaErrorMemoryAllocation);
    CHECK(data == nullptr);
    cudaGetLastError();
}

// Owns device memory.
class Words {
public:
    explicit Words(size_t count) : count_(count)
    {
        REQUIRE(cudaMalloc(&data_, count * 4) == cudaSuccess);
        fill(0);
    }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    ~Words() { cudaFree(data_); }

    uint32_t* data() const { return data_; }
    void fill(uint32_t x) { std::fill_n(data_, count_, x); }
    std::vector<uint32_t> all() const { return {data_, data_ + count_}; }

private:
    uint32_t* data_ = nullptr;
    size_t count_;
};

struct Streams {
    Streams()
    {
        for (cudaStream_t* stream : {&main, &side})
            REQUIRE(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking) == cudaSuccess);
        for (cudaEvent_t* event : {&forked, &joined})
            REQUIRE(cudaEventCreateWithFlags(event, cudaEventDisableTiming) == cudaSuccess);
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    ~Streams()
    {
        cudaStreamDestroy(main);
        cudaStreamDestroy(side);
        cudaEventDestroy(forked);
        cudaEventDestroy(joined);
        cudaGetLastError();
    }

    void begin() const { REQUIRE(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal) == cudaSuccess); }
    void wait(cudaStream_t waiting, cudaEvent_t event, cudaStream_t of) const
    {
        REQUIRE(cudaEventRecord(event, of) == cudaSuccess);
        REQUIRE(cudaStreamWaitEvent(waiting, event) == cudaSuccess);
    }
    // Ends the capture and returns its status; the graph is destroyed.
    cudaError_t ended() const
    {
        cudaGraph_t graph = nullptr;
        const cudaError_t status = cudaStreamEndCapture(main, &graph);
        CHECK((graph != nullptr) == (status == cudaSuccess));
        if (graph) cudaGraphDestroy(graph);
        return status;
    }

    cudaStream_t main = nullptr, side = nullptr;
    cudaEvent_t forked = nullptr, joined = nullptr;
};

class Graph {
public:
    explicit Graph(cudaStream_t stream)
    {
        cudaGraph_t graph = nullptr;
        REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
        REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
        REQUIRE(cudaGraphInstantiate(&exec_, graph) == cudaSuccess);
        REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() { CHECK(cudaGraphExecDestroy(exec_) == cudaSuccess); }

    void launch(cudaStream_t stream) const { REQUIRE(cudaGraphLaunch(exec_, stream) == cudaSuccess); }
    size_t nodes = 0;

private:
    cudaGraphExec_t exec_ = nullptr;
};

template<class... Parameters, class... Arguments>
cudaError_t launch_on(cudaStream_t stream, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = 32;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Its result depends on the order in which pushes run.
__global__ void push(uint32_t* to, const uint32_t* x)
{
    if (threadIdx.x == 0) *to = 3 * *to + *x;
}

TEST_CASE("a captured stream records its work, and a graph runs it on the current contents of memory")
{
    in_both_orders([] {
        const Streams streams;
        Words x(1), y(1), z(1);
        y.fill(5);
        x.fill(7);
        streams.begin();
        const uint32_t* argument = x.data();
        REQUIRE(launch_on(streams.main, push, y.data(), argument) == cudaSuccess);
        argument = nullptr; // the capture keeps the argument's value
        REQUIRE(cudaMemcpyAsync(z.data(), y.data(), 4, cudaMemcpyDeviceToDevice, streams.main) == cudaSuccess);
        REQUIRE(cudaMemsetAsync(y.data(), 0, 4, streams.main) == cudaSuccess);
        const Graph graph(streams.main);
        CHECK(graph.nodes == 3);
        CHECK(y.all() == std::vector<uint32_t>{5});
        CHECK(z.all() == std::vector<uint32_t>{0});
        graph.launch(streams.main);
        CHECK(z.all() == std::vector<uint32_t>{22});
        CHECK(y.all() == std::vector<uint32_t>{0});
        x.fill(9);
        y.fill(1);
        graph.launch(streams.main);
        CHECK(z.all() == std::vector<uint32_t>{12});
        // After the capture, the stream runs its work at once again.
        REQUIRE(launch_on(streams.main, push, y.data(), static_cast<const uint32_t*>(x.data())) == cudaSuccess);
        CHECK(y.all() == std::vector<uint32_t>{9});
    });
}

// The order of the emulator decides which of two branches runs first. Events order work in the same way in both
// orders.
TEST_CASE("only events order the branches of a graph")
{
    std::vector<uint32_t> raced;
    in_both_orders([&] {
        const Streams streams;
        Words x(4), y(2);
        for (uint32_t i = 0; i < 4; ++i)
            x.data()[i] = i + 1;
        const auto add = [&](cudaStream_t stream, uint32_t* to, uint32_t which) {
            REQUIRE(launch_on(stream, push, to, static_cast<const uint32_t*>(x.data() + which)) == cudaSuccess);
        };
        streams.begin();
        add(streams.main, y.data(), 0);
        streams.wait(streams.side, streams.forked, streams.main);
        add(streams.side, y.data(), 1);
        add(streams.side, y.data() + 1, 2); // no event orders this before or after the next one
        add(streams.main, y.data() + 1, 0);
        streams.wait(streams.main, streams.joined, streams.side);
        add(streams.main, y.data(), 3);
        const Graph graph(streams.main);
        CHECK(graph.nodes == 5);
        graph.launch(streams.main);
        CHECK(y.all()[0] == (1 * 3 + 2) * 3 + 4);
        raced.push_back(y.all()[1]);
    });
    CHECK(raced == std::vector<uint32_t>{3 * 3 + 1, 1 * 3 + 3});
}

TEST_CASE("a call that cannot be captured is refused and invalidates the capture")
{
    const Streams streams;
    Words x(2);
    uint32_t pageable = 0;
    uint32_t* pinned = nullptr;
    REQUIRE(cudaMallocHost(&pinned, 4) == cudaSuccess);
    *pinned = 17;
    cudaEvent_t outside = nullptr;
    REQUIRE(cudaEventCreate(&outside) == cudaSuccess);

    const std::vector<std::function<cudaError_t()>> calls{
        [&] { return cudaStreamSynchronize(streams.main); },
        [&] { return cudaStreamQuery(streams.main); },
        [] { return cudaDeviceSynchronize(); },
        [&] { return cudaEventSynchronize(outside); },
        [&] { return cudaStreamWaitEvent(streams.main, outside); },
        [&] {
            void* data = nullptr;
            return cudaMalloc(&data, 4);
        },
        [&] { return cudaFree(x.data()); },
        [&] { return cudaMemcpy(x.data(), pinned, 4, cudaMemcpyHostToDevice); },
        [&] { return cudaMemcpyAsync(x.data(), &pageable, 4, cudaMemcpyHostToDevice, streams.main); },
        [&] { return cudaMemcpyAsync(&pageable, x.data(), 4, cudaMemcpyDeviceToHost, streams.main); },
        [&] { return cudaStreamDestroy(streams.main); },
    };
    for (size_t i = 0; i < calls.size(); ++i) {
        CAPTURE(i);
        streams.begin();
        CHECK(calls[i]() != cudaSuccess);
        CHECK(cudaGetLastError() != cudaSuccess);
        CHECK(cudaMemsetAsync(x.data(), 1, 4, streams.main) == cudaErrorStreamCaptureInvalidated);
        cudaStreamCaptureStatus status{};
        REQUIRE(cudaStreamIsCapturing(streams.main, &status) == cudaSuccess);
        CHECK(status == cudaStreamCaptureStatusInvalidated);
        CHECK(streams.ended() == cudaErrorStreamCaptureInvalidated);
        REQUIRE(cudaStreamIsCapturing(streams.main, &status) == cudaSuccess);
        CHECK(status == cudaStreamCaptureStatusNone);
        CHECK(cudaStreamSynchronize(streams.main) == cudaSuccess);
    }
    CHECK(x.all() == std::vector<uint32_t>{0, 0});

    // Pinned memory is read when the graph runs.
    streams.begin();
    REQUIRE(cudaMemcpyAsync(x.data() + 1, pinned, 4, cudaMemcpyHostToDevice, streams.main) == cudaSuccess);
    {
        const Graph graph(streams.main);
        *pinned = 18;
        graph.launch(streams.main);
    }
    CHECK(x.all() == std::vector<uint32_t>{0, 18});
    REQUIRE(cudaFreeHost(pinned) == cudaSuccess);
    REQUIRE(cudaEventDestroy(outside) == cudaSuccess);
}

TEST_CASE("a capture begins once, and ends on its first stream after all branches have joined")
{
    const Streams streams;
    Words x(1);
    CHECK(streams.ended() == cudaErrorIllegalState);
    CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed) == cudaErrorStreamCaptureUnsupported);
    streams.begin();
    CHECK(cudaStreamBeginCapture(streams.main, cudaStreamCaptureModeRelaxed) == cudaErrorIllegalState);
    CHECK(streams.ended() == cudaSuccess);

    streams.begin();
    streams.wait(streams.side, streams.forked, streams.main);
    REQUIRE(cudaMemsetAsync(x.data(), 1, 4, streams.side) == cudaSuccess);
    CHECK(cudaEventSynchronize(streams.forked) == cudaErrorCapturedEvent);
    CHECK(streams.ended() == cudaErrorStreamCaptureUnjoined);
    // The stream of the branch is no longer captured either.
    CHECK(cudaStreamSynchronize(streams.side) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(streams.main, streams.forked) == cudaErrorCapturedEvent);

    streams.begin();
    streams.wait(streams.side, streams.forked, streams.main);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(streams.side, &graph) == cudaErrorStreamCaptureUnmatched);
    CHECK(streams.ended() == cudaErrorStreamCaptureInvalidated);

    // A relaxed capture permits allocations.
    REQUIRE(cudaStreamBeginCapture(streams.main, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    {
        const Words more(3);
    }
    CHECK(streams.ended() == cudaSuccess);
    CHECK(x.all() == std::vector<uint32_t>{0});
    cudaGetLastError();
}

} // namespace
