#include "kernels/base/byte_quantity.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace palimpsest {

std::optional<uint64_t> parse_bytes(std::string_view text)
{
    struct Unit {
        std::string_view name;
        double bytes;
    };
    static constexpr Unit units[] = {{"B", 1},        {"kB", 1e3},    {"KB", 1e3},     {"MB", 1e6},
                                     {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                     {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number >= 0)) return std::nullopt;
    std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    for (const Unit& unit : units)
        if (rest == unit.name && number * unit.bytes < 0x1p63) return static_cast<uint64_t>(number * unit.bytes);
    return std::nullopt;
}

std::string format_bytes(uint64_t bytes)
{
    static constexpr const char* names[] = {"B", "kB", "MB", "GB", "TB"};
    auto value = static_cast<double>(bytes);
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < std::size(names)) {
        value /= 1000;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, names[unit]);
    return text;
}

std::string format_count(uint64_t number)
{
    std::string digits = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<size_t>(at), ",");
    return digits;
}

std::string format_duration(double seconds)
{
    const auto s = static_cast<int64_t>(seconds + 0.5); // NOLINT(bugprone-incorrect-roundings): never negative
    char text[64];
    if (s < 60)
        std::snprintf(text, sizeof text, "%lld s", static_cast<long long>(s));
    else if (s < 3600)
        std::snprintf(text, sizeof text, "%lld:%02lld min", static_cast<long long>(s / 60),
                      static_cast<long long>(s % 60));
    else
        std::snprintf(text, sizeof text, "%lld:%02lld h", static_cast<long long>(s / 3600),
                      static_cast<long long>(s / 60 % 60));
    return text;
}

} // namespace palimpsest
