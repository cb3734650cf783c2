#include "kernels/cuda/device/send_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/device_memory.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr size_t alignment = 256;

} // namespace

// A half takes arrays of up to half its size, and is left only when the next one does not fit: by then, it holds at
// least max_kept bytes.
SendRing::SendRing() : SendRing(nullptr)
{
    add_halves(2 * max_kept);
}

SendRing::~SendRing()
{
    for (const Half& half : halves_) {
        free_device(half.device);
        if (half.pinned) give_back([&] { return cudaFreeHost(half.pinned); });
        if (half.left) give_back([&] { return cudaEventDestroy(half.left); });
    }
}

void SendRing::add_halves(size_t bytes)
{
    for (int i = 0; i < 2; ++i) {
        Half& half = halves_.emplace_back();
        check(cudaHostAlloc(reinterpret_cast<void**>(&half.pinned), bytes, cudaHostAllocDefault));
        half.device = static_cast<std::byte*>(allocate_device(bytes));
        check(cudaEventCreateWithFlags(&half.left, cudaEventDisableTiming));
        device_bytes_ += bytes;
    }
    current_ = halves_.size() - 2;
    half_bytes_ = bytes;
    used_ = 0;
}

size_t SendRing::take(size_t bytes, cudaStream_t stream)
{
    if (bytes > half_bytes_ / 2) add_halves(std::bit_ceil(bytes) * 2);
    if (used_ + bytes > half_bytes_) {
        check(cudaEventRecord(halves_[current_].left, stream));
        current_ ^= 1;
        check(cudaEventSynchronize(halves_[current_].left)); // returns at once if it was never recorded
        used_ = 0;
    }
    const size_t offset = used_;
    used_ += (bytes + alignment - 1) / alignment * alignment;
    return offset;
}

void SendRing::send_to(void* device, const void* host, size_t bytes, cudaStream_t stream)
{
    if (bytes == 0) return;
    const size_t offset = take(bytes, stream);
    std::byte* pinned = halves_[current_].pinned + offset;
    std::memcpy(pinned, host, bytes);
    check(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream));
}

const void* SendRing::send(const void* host, size_t bytes, cudaStream_t stream)
{
    const size_t offset = take(bytes, stream);
    const Half& half = halves_[current_];
    if (bytes == 0) return half.device + std::min(offset, half_bytes_ - alignment);
    std::memcpy(half.pinned + offset, host, bytes);
    check(cudaMemcpyAsync(half.device + offset, half.pinned + offset, bytes, cudaMemcpyHostToDevice, stream));
    return half.device + offset;
}

} // namespace palimpsest::kernels::cuda
