// Compression of stored blocks: zstd, or raw if that saves less than 10% (keys and values hardly compress).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace palimpsest::storage {

std::vector<std::byte> pack(std::span<const std::byte> raw);
// Fills exactly `raw`; false if `stored` does not decompress to that many bytes.
bool unpack(std::span<const std::byte> stored, std::span<std::byte> raw);

} // namespace palimpsest::storage
