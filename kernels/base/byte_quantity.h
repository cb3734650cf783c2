// Formats and parses human-readable byte quantities, counts and durations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest {

// Parses a number with a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), such as "512MiB" or "1.5 GB". nullopt for
// anything else, a missing unit included.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::string format_bytes(uint64_t bytes);    // "96.4 MB"
std::string format_count(uint64_t number);   // "812,345"
std::string format_duration(double seconds); // "40 s", "3:05 min", "1:20 h"

} // namespace palimpsest
