#include "kernels/cuda/device/pinned_pair.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/device/cuda_error.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr size_t block_bytes = size_t{4} << 20;

} // namespace

PinnedPair::~PinnedPair()
{
    for (const Block& block : blocks_) {
        if (block.pinned) give_back([&] { return cudaFreeHost(block.pinned); });
        if (block.filled) give_back([&] { return cudaEventDestroy(block.filled); });
    }
}

void PinnedPair::make(Block& block)
{
    if (!block.pinned)
        check(cudaHostAlloc(reinterpret_cast<void**>(&block.pinned), block_bytes, cudaHostAllocDefault));
    if (!block.filled) check(cudaEventCreateWithFlags(&block.filled, cudaEventDisableTiming));
}

void PinnedPair::reserve()
{
    for (Block& block : blocks_)
        make(block);
}

void PinnedPair::begin()
{
    for (Block& block : blocks_)
        block.bytes = 0;
}

void PinnedPair::empty(Block& block)
{
    if (block.bytes == 0) return;
    check(cudaEventSynchronize(block.filled));
    std::memcpy(block.host, block.pinned, block.bytes);
    block.bytes = 0;
}

void PinnedPair::copy(std::byte* host, const std::byte* device, size_t bytes, cudaStream_t stream)
{
    for (size_t done = 0; done < bytes;) {
        Block& block = blocks_[next_];
        make(block);
        empty(block);
        const size_t count = std::min(block_bytes, bytes - done);
        check(cudaMemcpyAsync(block.pinned, device + done, count, cudaMemcpyDeviceToHost, stream));
        check(cudaEventRecord(block.filled, stream));
        block.host = host + done;
        block.bytes = count;
        next_ ^= 1;
        done += count;
    }
}

void PinnedPair::finish()
{
    empty(blocks_[next_]);
    empty(blocks_[next_ ^ 1]);
}

} // namespace palimpsest::kernels::cuda
