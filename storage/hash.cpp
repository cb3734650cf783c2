#include "storage/hash.h"

#include <bit>
#include <cstring>
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

int64_t hash64(std::span<const std::byte> bytes)
{
    return std::bit_cast<int64_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

} // namespace palimpsest::storage
