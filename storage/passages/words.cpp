#include "storage/passages/words.h"

#include <algorithm>
#include <iterator>

namespace palimpsest::storage {
namespace {

bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_word_byte(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z') || is_digit(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
}

bool is_in_word(std::string_view text, size_t at)
{
    if (is_word_byte(text[at])) return wide_mark(text.substr(at)) == 0;
    const bool joins = text[at] == ',' || text[at] == '.';
    return joins && at > 0 && at + 1 < text.size() && is_digit(text[at - 1]) && is_digit(text[at + 1]);
}

} // namespace

size_t wide_mark(std::string_view text)
{
    const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    if (byte(0) == 0xC2 && (byte(1) == 0xA0 || byte(1) == 0xAB || byte(1) == 0xBB))
        return 2;                                                          // no-break space, quotes
    if (byte(0) == 0xE2 && (byte(1) == 0x80 || byte(1) == 0x81)) return 3; // U+2000 to U+207F: dashes, quotes, dots
    return byte(0) == 0xE3 && byte(1) == 0x80 ? 3 : 0;                     // U+3000 to U+303F, likewise
}

std::vector<std::string_view> words_in(std::string_view text)
{
    std::vector<std::string_view> words;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_in_word(text, end))
            ++end;
        if (end > at) words.push_back(text.substr(at, end - at));
        at = std::max(end, at + std::max<size_t>(1, wide_mark(text.substr(at))));
    }
    return words;
}

std::string plain_word(std::string_view word)
{
    std::string out;
    for (const char c : word)
        if (c != ',') out += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

std::string rough_stem(std::string_view word)
{
    return std::string(word.substr(0, 5));
}

bool begins_with_capital(std::string_view word)
{
    if (word.empty()) return false;
    const auto byte = [&](size_t at) { return at < word.size() ? static_cast<unsigned char>(word[at]) : 0u; };
    if (byte(0) < 0x80) return is_upper(word[0]);
    const unsigned character = (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    const bool has_two_bytes = byte(0) >= 0xC2 && byte(0) < 0xE0;
    const bool is_latin = character >= 0xC0 && character <= 0xDE && character != 0xD7;
    const bool is_extended = character >= 0x100 && character < 0x138 && character % 2 == 0;
    const bool is_greek = character >= 0x386 && character <= 0x3AB && character != 0x390;
    const bool is_cyrillic = character >= 0x400 && character <= 0x42F;
    return has_two_bytes && (is_latin || is_extended || is_greek || is_cyrillic);
}

bool is_pronoun(std::string_view word)
{
    constexpr std::string_view pronouns[] = {"he",   "her",   "hers", "him",   "his",   "it",   "its",  "she",
                                             "that", "their", "them", "there", "these", "they", "this", "those"};
    return std::find(std::begin(pronouns), std::end(pronouns), word) != std::end(pronouns);
}

bool continues_what_was_said(const std::vector<std::string_view>& words)
{
    if (words.empty()) return false;
    const std::string first = plain_word(words[0]);
    return first == "and" || first == "und";
}

size_t end_of_words(std::string_view text, size_t most)
{
    constexpr size_t bytes_of_word = 12;
    const auto words = words_in(text);
    size_t end = words.size() > most ? static_cast<size_t>(words[most].data() - text.data()) : text.size();
    if (end <= most * bytes_of_word) return end;
    end = most * bytes_of_word;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        --end;
    return end;
}

} // namespace palimpsest::storage
