// Downloads that go on while other work is queued: each into a pinned block of its own.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels::cuda {

// Blocks are used again. The first downloads of a size take their memory. Downloads begin one at a time, and end on
// any thread.
class PinnedBlocks {
public:
    PinnedBlocks() = default;
    ~PinnedBlocks(); // REQUIRES: no download lives
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

    std::mutex lock_;           // of unused_
    std::vector<Block> unused_; // though a download that nobody read may still come in
};

} // namespace palimpsest::kernels::cuda
