// Small host arrays that are often sent again with the same content, such as the lengths of lists: they stay on the
// device, and are found there.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace palimpsest::kernels::cuda {

// Not thread-safe.
class SentBefore {
public:
    static constexpr size_t places = 64, place_bytes = 1024;

    SentBefore(); // throws Error
    ~SentBefore();
    SentBefore(const SentBefore&) = delete;
    SentBefore& operator=(const SentBefore&) = delete;

    const void* find(const void* host, size_t bytes) const; // null: it is not there
    // Device memory for these bytes, which must be sent there next; what was sent so many times ago is forgotten.
    // REQUIRES: bytes <= place_bytes.
    void* take(const void* host, size_t bytes);
    void forget(const void* place); // it was not sent after all

    size_t device_bytes() const { return places * place_bytes; }

private:
    std::byte* device_ = nullptr;
    std::array<std::vector<std::byte>, places> contents_;
    size_t next_ = 0;
};

} // namespace palimpsest::kernels::cuda
