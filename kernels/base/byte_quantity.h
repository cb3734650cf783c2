// Bytes as people write and read them: "512MiB", "1.5 GB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest {

// A number with a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB); none without a unit or for anything else.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::string format_bytes(uint64_t bytes);    // "96.4 MB"
std::string format_count(uint64_t number);   // "812,345"
std::string format_duration(double seconds); // "40 s", "3 min"

} // namespace palimpsest
