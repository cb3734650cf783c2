#include "engine/eval/metrics/lower_case.h"

#include <utf8proc.h>

#include "engine/text/jinja/code_points.h"

namespace palimpsest::engine {
namespace {

constexpr char32_t capital_sigma = 0x3A3, final_sigma = 0x3C2;
constexpr char32_t capital_i_with_dot = 0x130, combining_dot = 0x307;

bool is_cased(char32_t code)
{
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

// Unicode 3.13, D136: what may stand between the letters of a word.
bool is_case_ignorable(char32_t code)
{
    constexpr std::u32string_view within_words = U"'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52"
                                                 U"\ufe55\uff07\uff0e\uff1a";
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return within_words.find(code) != within_words.npos;
    }
}

bool ends_word(std::u32string_view codes, size_t at)
{
    size_t before = at, after = at + 1;
    while (before > 0 && is_case_ignorable(codes[before - 1]))
        --before;
    while (after < codes.size() && is_case_ignorable(codes[after]))
        ++after;
    const bool has_letter_before = before > 0 && is_cased(codes[before - 1]);
    return has_letter_before && (after == codes.size() || !is_cased(codes[after]));
}

} // namespace

std::string lower_case(std::string_view text)
{
    const std::u32string codes = jinja::code_points(text);
    std::u32string lower;
    lower.reserve(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
        if (codes[i] == capital_i_with_dot)
            lower += {U'i', combining_dot};
        else if (codes[i] == capital_sigma && ends_word(codes, i))
            lower += final_sigma;
        else
            lower += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(codes[i])));
    }
    return jinja::to_utf8(lower);
}

} // namespace palimpsest::engine
