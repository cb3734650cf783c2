#include "kernels/counting_backend.h"

#include <cstring>

namespace palimpsest::kernels {
namespace {

// Rounds as device allocators do: memory is allocated in blocks of 2 MiB, which several small requests share.
uint64_t rounded_allocation(size_t bytes)
{
    constexpr size_t piece = size_t{2} << 20, shared_up_to = size_t{1} << 20, alignment = 512;
    const size_t to = bytes > shared_up_to ? piece : alignment;
    return (bytes + to - 1) / to * to;
}

class SizedWeight final : public Weight {
public:
    explicit SizedWeight(std::span<const HostMatrix> parts)
    {
        cols_ = parts.front().cols;
        for (const HostMatrix& part : parts) {
            rows_ += part.rows;
            bytes_ += part.rows * row_bytes(part.type, part.cols);
        }
    }
};

class NoDownload final : public Download {
public:
    void read(void*) override {}
};

} // namespace

std::unique_ptr<Weight> CountingBackend::load(std::span<const HostMatrix> parts)
{
    for (const HostMatrix& part : parts)
        loaded_bytes_ += rounded_allocation(counted_.weight_bytes({&part, 1}));
    return std::make_unique<SizedWeight>(parts);
}

std::unique_ptr<Download> CountingBackend::begin_download(const void*, size_t)
{
    return std::make_unique<NoDownload>();
}

void CountingBackend::download(void* to_host, const void*, size_t bytes)
{
    if (bytes > 0) std::memset(to_host, 0, bytes);
}

void* CountingBackend::allocate(size_t bytes)
{
    static std::byte nowhere;
    buffer_bytes_ += rounded_allocation(bytes);
    return &nowhere;
}

void CountingBackend::release(void*, size_t bytes) noexcept
{
    buffer_bytes_ -= rounded_allocation(bytes);
}

} // namespace palimpsest::kernels
