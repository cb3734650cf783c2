// Host memory on its way to the device, in pieces: pinned memory that is written round and round, and its copy
// there.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <vector>

namespace palimpsest::kernels::cuda {

// Two halves: while one is filled, copies out of the other one end. Nothing waits unless more is sent than the
// stream can take. Not thread-safe.
class SendRing {
public:
    static constexpr size_t most_kept = size_t{1} << 20; // bytes sent after which a copy may be overwritten

    SendRing(); // throws Error
    ~SendRing();
    SendRing(const SendRing&) = delete;
    SendRing& operator=(const SendRing&) = delete;

    // 256-byte aligned device memory that holds the bytes once the stream gets there; `host` may go at once.
    const void* send(const void* host, size_t bytes, cudaStream_t stream);
    // The same into memory of the caller's.
    void send_to(void* device, const void* host, size_t bytes, cudaStream_t stream);

    size_t device_bytes() const { return device_bytes_; }

private:
    struct Half {
        std::byte* pinned = nullptr;
        std::byte* device = nullptr;
        cudaEvent_t left = nullptr; // what was sent out of it has arrived
    };

    explicit SendRing(std::nullptr_t) {}            // owns what a failed construction had taken
    size_t take(size_t bytes, cudaStream_t stream); // offset in the current half
    void add_halves(size_t bytes);

    std::vector<Half> halves_; // the last two are in use; those before keep what was sent from being lost
    size_t half_bytes_ = 0;
    size_t current_ = 0;
    size_t used_ = 0;
    size_t device_bytes_ = 0;
};

} // namespace palimpsest::kernels::cuda
