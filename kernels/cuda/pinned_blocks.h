// Downloads that go on while other work is queued: each into a pinned block of its own.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels::cuda {

// Blocks are used again. Takes no memory before the first download. Not thread-safe.
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
    static void free(const Block& block) noexcept;

    std::vector<Block> unused_; // though a download that nobody read may still come in
};

} // namespace palimpsest::kernels::cuda
