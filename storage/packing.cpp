#include "storage/packing.h"

#include <cstring>
#include <zstd.h>

namespace palimpsest::storage {

std::vector<std::byte> pack(std::span<const std::byte> raw)
{
    constexpr int level = 1;
    std::vector<std::byte> out(ZSTD_compressBound(raw.size()));
    const size_t size = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), level);
    if (ZSTD_isError(size) || size > raw.size() - raw.size() / 10) return {raw.begin(), raw.end()};
    out.resize(size);
    return out;
}

bool unpack(std::span<const std::byte> stored, std::span<std::byte> raw)
{
    if (stored.size() > raw.size()) return false;
    if (stored.size() == raw.size()) {
        if (!raw.empty()) std::memcpy(raw.data(), stored.data(), raw.size());
        return true;
    }
    const size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
    return !ZSTD_isError(size) && size == raw.size();
}

} // namespace palimpsest::storage
