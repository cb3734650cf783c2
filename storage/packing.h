// Blocks as they lie in a row: zstd, or raw where that saves less than a tenth (keys and values are nearly noise).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace palimpsest::storage {

std::vector<std::byte> pack(std::span<const std::byte> raw);
// Fills exactly `raw`; false if `stored` is not what pack made of so many bytes.
bool unpack(std::span<const std::byte> stored, std::span<std::byte> raw);

} // namespace palimpsest::storage
