#include "tests/support/simt/device_memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <sys/mman.h>

#include "kernels/base/sanitized.h"

#ifdef PALIMPSEST_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define SIMT_FORBID(at, bytes) __asan_poison_memory_region(at, bytes)
#define SIMT_ALLOW(at, bytes) __asan_unpoison_memory_region(at, bytes)
#else
#define SIMT_FORBID(at, bytes) static_cast<void>(0)
#define SIMT_ALLOW(at, bytes) static_cast<void>(0)
#endif

namespace simt {
namespace {

constexpr size_t alignment = 256, gap = 256, page = 4096;

size_t rounded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

} // namespace

DeviceMemory::DeviceMemory()
{
    void* data = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(data);
}

DeviceMemory::~DeviceMemory()
{
    SIMT_ALLOW(base_, reach_);
    munmap(base_, total);
}

void DeviceMemory::protect()
{
    const size_t closed = host_is_out_ && open_ == 0 ? reach_ : 0;
    if (closed == closed_ || reach_ == 0) return;
    if (mprotect(base_, reach_, closed ? PROT_NONE : PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    closed_ = closed;
}

void DeviceMemory::forbid_host_access(bool out)
{
    host_is_out_ = out;
    protect();
}

// Takes the first free range that is large enough, and leaves a gap after every allocation.
void* DeviceMemory::take(size_t bytes)
{
    if (bytes > total - used_) return nullptr;
    size_t at = 0;
    for (const auto& [offset, size] : taken_) {
        if (offset >= at && offset - at >= bytes + gap) break;
        at = rounded(offset + size + gap, alignment);
    }
    if (at + bytes + gap > total) return nullptr;
    taken_[at] = bytes;
    used_ += bytes;
    const Access access(*this);
    const size_t reach = std::max(reach_, rounded(at + bytes + gap, page));
    if (reach > reach_) SIMT_FORBID(base_ + reach_, reach - reach_);
    reach_ = reach;
    SIMT_ALLOW(base_ + at, bytes);
    std::memset(base_ + at, 0xff, bytes);
    return base_ + at;
}

bool DeviceMemory::give(void* data)
{
    if (!is_near(data)) return false;
    const auto at = taken_.find(static_cast<size_t>(static_cast<std::byte*>(data) - base_));
    if (at == taken_.end()) return false;
    SIMT_FORBID(base_ + at->first, at->second);
    used_ -= at->second;
    taken_.erase(at);
    return true;
}

bool DeviceMemory::holds(const void* data, size_t bytes) const
{
    if (!is_near(data)) return false;
    const auto at = static_cast<size_t>(static_cast<const std::byte*>(data) - base_);
    const auto after = taken_.upper_bound(at);
    if (after == taken_.begin()) return false;
    const auto& [offset, size] = *std::prev(after);
    return at - offset <= size && bytes <= size - (at - offset);
}

} // namespace simt
