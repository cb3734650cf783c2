// Copies from the device to ordinary memory through two pinned blocks: the device fills one while the host empties
// the other.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

namespace palimpsest::kernels::cuda {

// Allocates nothing before the first copy or reserve. Not thread-safe.
class PinnedPair {
public:
    PinnedPair() = default;
    ~PinnedPair();
    PinnedPair(const PinnedPair&) = delete;
    PinnedPair& operator=(const PinnedPair&) = delete;

    void reserve(); // allocates now; throws Error
    void begin();   // discards copies that an error left unfinished
    // Starts a copy. `host` is complete only after finish(), and must stay valid until then. Throws Error.
    void copy(std::byte* host, const std::byte* device, size_t bytes, cudaStream_t stream);
    void finish();

private:
    struct Block {
        std::byte* pinned = nullptr;
        cudaEvent_t filled = nullptr;
        std::byte* host = nullptr; // destination of its content
        size_t bytes = 0;          // of its content; 0: empty
    };

    void make(Block& block);
    static void empty(Block& block);

    std::array<Block, 2> blocks_;
    size_t next_ = 0;
};

} // namespace palimpsest::kernels::cuda
