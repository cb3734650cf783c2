// Copies from the device to ordinary memory through two pinned blocks: while one is filled by the device, the host
// empties the other.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

namespace palimpsest::kernels::cuda {

// Takes no memory before the first copy. Not thread-safe.
class PinnedPair {
public:
    PinnedPair() = default;
    ~PinnedPair();
    PinnedPair(const PinnedPair&) = delete;
    PinnedPair& operator=(const PinnedPair&) = delete;

    void reserve(); // takes the memory now; throws Error
    void begin();   // forgets what an error left unfinished
    // `host` is written by a later copy or by finish. Throws Error.
    void copy(std::byte* host, const std::byte* device, size_t bytes, cudaStream_t stream);
    void finish();

private:
    struct Block {
        std::byte* pinned = nullptr;
        cudaEvent_t filled = nullptr;
        std::byte* host = nullptr; // where its content goes
        size_t bytes = 0;          // of it; 0: empty
    };

    void make(Block& block);
    static void empty(Block& block);

    std::array<Block, 2> blocks_;
    size_t next_ = 0;
};

} // namespace palimpsest::kernels::cuda
