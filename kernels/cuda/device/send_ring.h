// Uploads of small host arrays: a ring of pinned memory, and its copy on the device.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <vector>

namespace palimpsest::kernels::cuda {

// Two halves: one is filled while the copies from the other complete. The host waits only if it sends faster than
// the stream copies. Not thread-safe.
class SendRing {
public:
    static constexpr size_t max_kept = size_t{1} << 20; // a copy stays valid until this many more bytes were sent

    SendRing(); // throws Error
    ~SendRing();
    SendRing(const SendRing&) = delete;
    SendRing& operator=(const SendRing&) = delete;

    // Returns 256-byte aligned device memory that holds the bytes for operations queued on the stream after this
    // call. `host` may be freed at once.
    const void* send(const void* host, size_t bytes, cudaStream_t stream);
    // Like send, into the caller's device memory.
    void send_to(void* device, const void* host, size_t bytes, cudaStream_t stream);

    size_t device_bytes() const { return device_bytes_; }

private:
    struct Half {
        std::byte* pinned = nullptr;
        std::byte* device = nullptr;
        cudaEvent_t left = nullptr; // completes after the last copy from this half
    };

    explicit SendRing(std::nullptr_t) {} // delegated to, so that the destructor runs if the public one throws
    size_t take(size_t bytes, cudaStream_t stream); // returns an offset in the current half
    void add_halves(size_t bytes);

    std::vector<Half> halves_; // the last two are in use; older ones hold copies that are still read
    size_t half_bytes_ = 0;
    size_t current_ = 0;
    size_t used_ = 0;
    size_t device_bytes_ = 0;
};

} // namespace palimpsest::kernels::cuda
