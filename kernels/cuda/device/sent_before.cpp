#include "kernels/cuda/device/sent_before.h"

#include <cassert>
#include <cstring>

#include "kernels/cuda/device/device_memory.h"

namespace palimpsest::kernels::cuda {

UploadCache::UploadCache() : device_(static_cast<std::byte*>(allocate_device(places * place_bytes)))
{
    for (auto& content : contents_)
        content.reserve(place_bytes);
}

UploadCache::~UploadCache()
{
    free_device(device_);
}

const void* UploadCache::find(const void* host, size_t bytes) const
{
    for (size_t i = 0; i < places; ++i)
        if (contents_[i].size() == bytes && std::memcmp(contents_[i].data(), host, bytes) == 0)
            return device_ + i * place_bytes;
    return nullptr;
}

void* UploadCache::take(const void* host, size_t bytes)
{
    assert(bytes <= place_bytes);
    const auto* from = static_cast<const std::byte*>(host);
    contents_[next_].assign(from, from + bytes);
    void* place = device_ + next_ * place_bytes;
    next_ = (next_ + 1) % places;
    return place;
}

void UploadCache::forget(const void* place)
{
    contents_[static_cast<size_t>(static_cast<const std::byte*>(place) - device_) / place_bytes].clear();
}

} // namespace palimpsest::kernels::cuda
