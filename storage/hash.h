// XXH3 of stored content: finds accidents, not attackers (reliability.md, 2.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace palimpsest::storage {

using Hash128 = std::array<std::byte, 16>;

Hash128 hash128(std::span<const std::byte> bytes);
int64_t hash64(std::span<const std::byte> bytes); // as SQLite's INTEGER has it

} // namespace palimpsest::storage
