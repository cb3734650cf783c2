#include "engine/text/break_scanner.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utf8proc.h>

namespace palimpsest::engine {
namespace {

// Words whose full stop ends no sentence: titles before a name.
constexpr std::u32string_view abbreviations[] = {U"Capt", U"Col", U"Dr",   U"Fr",  U"Gen", U"Herr", U"Hon", U"Hr",
                                                 U"Lt",   U"Mdm", U"Mlle", U"Mme", U"Mr",  U"Mrs",  U"Ms",  U"Prof",
                                                 U"Rev",  U"Sgt", U"Sr",   U"St",  U"Sta", U"Ste"};
constexpr size_t longest_abbreviation = 4;

utf8proc_category_t category(char32_t character)
{
    return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool is_white_space(char32_t character)
{
    constexpr std::u32string_view controls = U" \t\n\r\f\v";
    return controls.find(character) != controls.npos || category(character) == UTF8PROC_CATEGORY_ZS;
}

// Full stops, exclamation mark and question mark of Chinese and Japanese: no space follows them.
bool is_wide_stop(char32_t character)
{
    constexpr std::u32string_view stops = U"\u3002\uFF01\uFF1F\uFF61";
    return stops.find(character) != stops.npos;
}

bool ends_sentence(char32_t character)
{
    // Then those of Armenian, Arabic, Urdu, Indian scripts, Burmese, Amharic and Khmer.
    constexpr std::u32string_view stops = U".!?\u2026\u0589\u061F\u06D4\u0964\u0965\u104A\u104B\u1362\u17D4\u17D5";
    return stops.find(character) != stops.npos || is_wide_stop(character);
}

// Quotation marks and brackets that may stand between the end of a sentence and the next.
bool closes(char32_t character)
{
    const auto kind = category(character);
    return character == U'"' || character == U'\'' || kind == UTF8PROC_CATEGORY_PE || kind == UTF8PROC_CATEGORY_PF;
}

bool is_lower_case(char32_t character)
{
    return category(character) == UTF8PROC_CATEGORY_LL;
}

bool is_upper_case(char32_t character)
{
    return category(character) == UTF8PROC_CATEGORY_LU;
}

bool is_letter(char32_t character)
{
    return is_lower_case(character) || is_upper_case(character);
}

} // namespace

// A title, or the initial of a name; "I" is a word.
bool BreakScanner::is_abbreviation() const
{
    if (word_.size() == 1) return is_upper_case(word_[0]) && word_[0] != U'I';
    return std::find(std::begin(abbreviations), std::end(abbreviations), word_) != std::end(abbreviations);
}

std::optional<Break> BreakScanner::break_before(char32_t character, bool is_space)
{
    if (is_space) return std::nullopt;
    if (after_space_) {
        const bool begins_paragraph = line_ends_ > (in_heading_ ? 0 : 1);
        const bool begins_sentence = after_sentence_ && !is_lower_case(character);
        in_heading_ = in_heading_ && !begins_paragraph;
        return begins_paragraph ? Break::Paragraph : begins_sentence ? Break::Sentence : Break::Word;
    }
    if (after_wide_stop_ && !closes(character) && !ends_sentence(character)) return Break::Sentence;
    return std::nullopt;
}

std::optional<Break> BreakScanner::push(char32_t character, bool begins_heading)
{
    const bool is_space = is_white_space(character);
    in_heading_ = in_heading_ || begins_heading;
    const std::optional<Break> found = begins_heading ? std::nullopt : break_before(character, is_space);
    if (is_space) {
        line_ends_ = (after_space_ ? line_ends_ : 0) + (character == U'\n' ? 1 : 0);
    } else if (ends_sentence(character)) {
        after_sentence_ = character != U'.' || !is_abbreviation();
        after_wide_stop_ = is_wide_stop(character) || (after_wide_stop_ && !after_space_);
    } else if (after_space_ || !closes(character)) {
        after_sentence_ = after_wide_stop_ = false;
    }
    after_space_ = is_space;
    if (!is_letter(character))
        word_.clear();
    else if (word_.size() <= longest_abbreviation)
        word_ += character;
    return found;
}

} // namespace palimpsest::engine
