// CudaContext::aside(), the branch of a recording: its work runs after earlier work and beside later work; when
// nothing is recorded, all work runs in order.

#include <cuda_runtime.h>

#include <functional>
#include <vector>

#include "kernels/cuda/device/cuda_graph.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/device_memory.h"
#include "tests/support/catch.h"

namespace palimpsest::kernels::cuda {
namespace {

// Appends a word to a list; list[0] is the number of words.
__global__ void append(uint32_t* list, uint32_t word)
{
    if (threadIdx.x != 0) return;
    list[1 + list[0]] = word;
    ++list[0];
}

class Words {
public:
    explicit Words(CudaContext& context) : context_(context), data_(static_cast<uint32_t*>(allocate_device(bytes)))
    {
        clear();
    }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    ~Words() { free_device(data_); }

    void add(uint32_t word) const { launch(context_, {dim3(1), dim3(32)}, append, data_, word); }
    void clear() const { check(cudaMemset(data_, 0, bytes)); }
    std::vector<uint32_t> all() const { return {data_ + 1, data_ + 1 + data_[0]}; }

private:
    static constexpr size_t bytes = 256;
    CudaContext& context_;
    uint32_t* data_;
};

using List = std::vector<uint32_t>;

// Returns the lists that two replays write: branches run in order in the first, and as late as possible in the
// second.
std::vector<List> replayed(CudaContext& context, const Words& words, const std::function<void()>& operations)
{
    words.clear();
    const auto recording = record(operations, context);
    CHECK(words.all().empty());
    std::vector<List> lists;
    for (const simt::Order order : {simt::Order::Ascending, simt::Order::Descending}) {
        simt::set_order(order);
        words.clear();
        REQUIRE(replay(*recording, context));
        lists.push_back(words.all());
    }
    simt::set_order(simt::Order::Ascending);
    return lists;
}

TEST_CASE("work of a branch may run after later work, but not before earlier work")
{
    CudaContext context(0);
    const Words words(context);
    const auto step = [&](uint32_t first) {
        words.add(first);
        {
            const auto aside = context.aside();
            words.add(first + 1);
            words.add(first + 2);
        }
        words.add(first + 3);
    };
    CHECK(replayed(context, words, [&] {
              step(10);
              step(20);
          }) == std::vector<List>{{10, 11, 12, 13, 20, 21, 22, 23}, {10, 13, 20, 23, 11, 12, 21, 22}});
    CHECK(replayed(context, words, [&] {
              step(10);
              context.wait_for_aside();
              step(20);
          }) == std::vector<List>{{10, 11, 12, 13, 20, 21, 22, 23}, {10, 13, 11, 12, 20, 23, 21, 22}});

    words.clear();
    step(10);
    context.wait_for_aside();
    CHECK(words.all() == List{10, 11, 12, 13});
}

TEST_CASE("streams can be used again after a recording that ends in a branch or in an exception")
{
    CudaContext context(0);
    const Words words(context);
    CHECK(replayed(context, words, [&] {
              words.add(1);
              const auto aside = context.aside();
              words.add(2);
          }) == std::vector<List>{{1, 2}, {1, 2}});
    words.clear();
    const auto fails = [&] {
        const auto aside = context.aside();
        words.add(3);
        throw 17;
    };
    CHECK_THROWS_AS(record(fails, context), int);
    const auto synchronises = [&] {
        const auto aside = context.aside();
        words.add(4);
        check(cudaStreamSynchronize(context.stream()));
    };
    CHECK_THROWS_WITH(record(synchronises, context), Catch::Contains("PAL-GPU-04"));
    const auto takes_memory = [&] {
        words.add(5);
        void* data = nullptr;
        cudaMalloc(&data, 16);
    };
    CHECK_THROWS_WITH(record(takes_memory, context), Catch::Contains("PAL-GPU-04"));
    CHECK(words.all().empty());
    words.add(6);
    {
        const auto aside = context.aside();
        words.add(7);
    }
    context.finish();
    CHECK(words.all() == List{6, 7});
}

} // namespace
} // namespace palimpsest::kernels::cuda
