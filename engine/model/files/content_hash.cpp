#include "engine/model/files/content_hash.h"

#include <algorithm>
#include <cstdio>
#include <new>

#include <xxhash.h>

namespace palimpsest::engine {

struct ContentHash::State {
    XXH3_state_t* xxh = XXH3_createState();
    ~State() { XXH3_freeState(xxh); }
};

ContentHash::ContentHash() : state_(std::make_unique<State>())
{
    if (!state_->xxh) throw std::bad_alloc();
    XXH3_128bits_reset(state_->xxh);
}

ContentHash::~ContentHash() = default;

void ContentHash::add(std::span<const std::byte> bytes)
{
    XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

void ContentHash::add(uint64_t number)
{
    add(std::as_bytes(std::span(&number, 1)));
}

void ContentHash::add_sample(std::span<const std::byte> bytes)
{
    constexpr size_t piece = 2048;
    add(bytes.first(std::min(piece, bytes.size())));
    add(bytes.last(std::min(piece, bytes.size())));
}

std::string ContentHash::hex() const
{
    const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return text;
}

} // namespace palimpsest::engine
