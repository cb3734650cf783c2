#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>

namespace palimpsest::reader {

// The whole number at the beginning of an attribute's value, at most a million in size; `otherwise` if there is
// none.
inline int number_in(std::string_view text, int otherwise)
{
    constexpr int largest = 1'000'000;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return text.starts_with('-') ? -largest : largest;
    return error == std::errc() ? std::clamp(value, -largest, largest) : otherwise;
}

} // namespace palimpsest::reader
