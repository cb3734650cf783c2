// Downloads that overlap with later queued work: each copies into a pinned block of its own.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels::cuda {

// Blocks are reused; the first downloads of a size allocate. Downloads begin on one thread at a time, and may end
// on any thread.
class PinnedBlocks {
public:
    PinnedBlocks() = default;
    ~PinnedBlocks(); // REQUIRES: no download is alive
    PinnedBlocks(const PinnedBlocks&) = delete;
    PinnedBlocks& operator=(const PinnedBlocks&) = delete;

    std::unique_ptr<Download> begin(const void* device, size_t bytes, cudaStream_t stream); // throws Error

private:
    struct Block {
        std::byte* pinned = nullptr;
        cudaEvent_t filled = nullptr;
        size_t bytes = 0;
    };
    class Coming;

    Block take(size_t bytes);
    std::optional<Block> take_unused();
    void give_back(const Block& block);
    static void free(const Block& block) noexcept;

    std::mutex lock_;           // guards unused_
    std::vector<Block> unused_; // a download that was never read may still be copying into one
};

} // namespace palimpsest::kernels::cuda
