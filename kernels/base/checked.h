// Checked arithmetic for numbers that come from a file: overflow yields nullopt.
#pragma once

#include <cstdint>
#include <optional>

namespace palimpsest {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b)
{
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
    return r;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b)
{
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
    return r;
}

// REQUIRES: alignment is a power of two.
inline std::optional<uint64_t> align_up(uint64_t a, uint64_t alignment)
{
    const auto padded = checked_add(a, alignment - 1);
    if (!padded) return std::nullopt;
    return *padded & ~(alignment - 1);
}

} // namespace palimpsest
