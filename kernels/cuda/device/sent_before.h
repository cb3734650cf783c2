// Device copies of small host arrays that are sent repeatedly with the same content, such as list lengths: a cache
// of the last 64 arrays.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace palimpsest::kernels::cuda {

// Not thread-safe.
class UploadCache {
public:
    static constexpr size_t places = 64, place_bytes = 1024;

    UploadCache(); // throws Error
    ~UploadCache();
    UploadCache(const UploadCache&) = delete;
    UploadCache& operator=(const UploadCache&) = delete;

    const void* find(const void* host, size_t bytes) const; // returns null if there is no copy
    // Returns device memory for these bytes, in place of the oldest copy; the caller must send the bytes there
    // next. REQUIRES: bytes <= place_bytes.
    void* take(const void* host, size_t bytes);
    void forget(const void* place); // call if sending failed after take()

    size_t device_bytes() const { return places * place_bytes; }

private:
    std::byte* device_ = nullptr;
    std::array<std::vector<std::byte>, places> contents_;
    size_t next_ = 0;
};

} // namespace palimpsest::kernels::cuda
