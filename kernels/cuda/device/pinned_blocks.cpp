#include "kernels/cuda/device/pinned_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cuda/device/cuda_error.h"

namespace palimpsest::kernels::cuda {

class PinnedBlocks::Coming final : public Download {
public:
    Coming(PinnedBlocks& owner, const Block& block, size_t bytes) : owner_(owner), block_(block), bytes_(bytes) {}
    ~Coming() override { owner_.give_back(block_); }

    void read(void* to_host) override
    {
        check(cudaEventSynchronize(block_.filled));
        std::memcpy(to_host, block_.pinned, bytes_);
    }

private:
    PinnedBlocks& owner_;
    Block block_;
    size_t bytes_;
};

PinnedBlocks::~PinnedBlocks()
{
    for (const Block& block : unused_)
        free(block);
}

void PinnedBlocks::free(const Block& block) noexcept
{
    if (block.filled) {
        cuda::give_back([&] { return cudaEventSynchronize(block.filled); });
        cuda::give_back([&] { return cudaEventDestroy(block.filled); });
    }
    if (block.pinned) cuda::give_back([&] { return cudaFreeHost(block.pinned); });
}

void PinnedBlocks::give_back(const Block& block)
{
    const std::scoped_lock held(lock_);
    unused_.push_back(block);
}

std::optional<PinnedBlocks::Block> PinnedBlocks::take_unused()
{
    const std::scoped_lock held(lock_);
    if (unused_.empty()) return std::nullopt;
    const Block block = unused_.back();
    unused_.pop_back();
    return block;
}

PinnedBlocks::Block PinnedBlocks::take(size_t bytes)
{
    while (const auto block = take_unused()) {
        if (block->bytes >= bytes) return *block;
        free(*block);
    }
    constexpr size_t fewest = size_t{64} << 10;
    Block block{.bytes = std::bit_ceil(std::max(bytes, fewest))};
    try {
        check(cudaHostAlloc(reinterpret_cast<void**>(&block.pinned), block.bytes, cudaHostAllocDefault));
        check(cudaEventCreateWithFlags(&block.filled, cudaEventDisableTiming));
    } catch (...) {
        free(block);
        throw;
    }
    return block;
}

std::unique_ptr<Download> PinnedBlocks::begin(const void* device, size_t bytes, cudaStream_t stream)
{
    const Block block = take(bytes);
    auto download = std::make_unique<Coming>(*this, block, bytes);
    if (bytes > 0) check(cudaMemcpyAsync(block.pinned, device, bytes, cudaMemcpyDeviceToHost, stream));
    check(cudaEventRecord(block.filled, stream));
    return download;
}

} // namespace palimpsest::kernels::cuda
