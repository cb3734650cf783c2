// Python's view of strings: sequences of code points.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace palimpsest::engine::jinja {

// Returns the code point at byte `at`, and advances `at` past it. An invalid byte counts as one code point.
// REQUIRES: at < text.size().
char32_t next_code_point(std::string_view text, size_t& at);
size_t count_code_points(std::string_view text);
std::u32string code_points(std::string_view text);
std::string to_utf8(std::u32string_view text);

bool is_space(char32_t code);     // str.isspace
bool is_printable(char32_t code); // str.isprintable
bool is_letter(char32_t code);    // str.isalpha
bool is_decimal(char32_t code);   // str.isdecimal
bool is_lower(char32_t code);
bool is_upper(char32_t code);

// Simple case mappings of each code point; the upper case of U+00DF is "SS".
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalized(std::string_view text); // str.capitalize
std::string title_case(std::string_view text);  // str.title

// Removes code points that `is_stripped` accepts, from the start, the end, or both.
template<class IsStripped>
std::string_view strip(std::string_view text, bool at_start, bool at_end, const IsStripped& is_stripped)
{
    while (at_start && !text.empty()) {
        size_t size = 0;
        if (!is_stripped(next_code_point(text, size))) break;
        text.remove_prefix(size);
    }
    while (at_end && !text.empty()) {
        size_t last = text.size() - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80)
            --last;
        size_t end = last;
        if (!is_stripped(next_code_point(text, end)) || end != text.size()) break;
        text.remove_suffix(text.size() - last);
    }
    return text;
}
inline std::string_view strip_space(std::string_view text)
{
    return strip(text, true, true, is_space);
}

} // namespace palimpsest::engine::jinja
