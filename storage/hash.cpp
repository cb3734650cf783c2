#include "storage/hash.h"

#include <bit>
#include <cstring>
#include <new>
#include <xxhash.h>

namespace palimpsest::storage {

Hash128 hash128(std::span<const std::byte> bytes)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
    Hash128 hash;
    static_assert(sizeof hash == sizeof canonical.digest);
    std::memcpy(hash.data(), canonical.digest, sizeof hash);
    return hash;
}

Hasher64::Hasher64() : state_(XXH3_createState())
{
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
}

void Hasher64::Free::operator()(XXH3_state_s* state) const
{
    XXH3_freeState(state);
}

void Hasher64::push(std::span<const std::byte> bytes)
{
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

int64_t Hasher64::value() const
{
    return std::bit_cast<int64_t>(XXH3_64bits_digest(state_.get()));
}

int64_t hash64(std::span<const std::byte> bytes)
{
    return std::bit_cast<int64_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

} // namespace palimpsest::storage
