#include "engine/text/jinja/code_points.h"

#include <utf8proc.h>

#include <algorithm>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine::jinja {
namespace {

constexpr char32_t sharp_s = 0xDF; // the only common letter whose upper case has two letters

void append_upper(char32_t code, std::string& out)
{
    if (code == sharp_s)
        out += "SS";
    else
        append_utf8(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))), out);
}

void append_lower(char32_t code, std::string& out)
{
    append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))), out);
}

utf8proc_category_t category(char32_t code)
{
    return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

} // namespace

char32_t next_code_point(std::string_view text, size_t& at)
{
    utf8proc_int32_t code = 0;
    const auto rest = text.substr(at);
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
                                       static_cast<utf8proc_ssize_t>(rest.size()), &code);
    if (size <= 0) {
        ++at;
        return replacement_character;
    }
    at += static_cast<size_t>(size);
    return static_cast<char32_t>(code);
}

size_t count_code_points(std::string_view text)
{
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return !is_utf8_continuation(byte); }));
}

std::u32string code_points(std::string_view text)
{
    std::u32string codes;
    for (size_t at = 0; at < text.size();)
        codes += next_code_point(text, at);
    return codes;
}

std::string to_utf8(std::u32string_view text)
{
    std::string out;
    for (const char32_t code : text)
        append_utf8(code, out);
    return out;
}

bool is_space(char32_t code)
{
    return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
           code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_printable(char32_t code)
{
    if (code == ' ') return true;
    switch (category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

bool is_letter(char32_t code)
{
    const auto c = category(code);
    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t code)
{
    return category(code) == UTF8PROC_CATEGORY_ND;
}

bool is_lower(char32_t code)
{
    return category(code) == UTF8PROC_CATEGORY_LL;
}

bool is_upper(char32_t code)
{
    return category(code) == UTF8PROC_CATEGORY_LU;
}

std::string upper(std::string_view text)
{
    std::string out;
    for (size_t at = 0; at < text.size();)
        append_upper(next_code_point(text, at), out);
    return out;
}

std::string lower(std::string_view text)
{
    std::string out;
    for (size_t at = 0; at < text.size();)
        append_lower(next_code_point(text, at), out);
    return out;
}

std::string capitalized(std::string_view text)
{
    if (text.empty()) return {};
    size_t first = 0;
    next_code_point(text, first);
    return upper(text.substr(0, first)) + lower(text.substr(first));
}

std::string title_case(std::string_view text)
{
    std::string out;
    bool in_word = false;
    for (size_t at = 0; at < text.size();) {
        const char32_t code = next_code_point(text, at);
        in_word ? append_lower(code, out) : append_upper(code, out);
        const auto c = category(code);
        in_word = c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LL || c == UTF8PROC_CATEGORY_LT;
    }
    return out;
}

} // namespace palimpsest::engine::jinja
