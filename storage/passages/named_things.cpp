#include "storage/passages/named_things.h"

#include <algorithm>
#include <iterator>

#include "engine/text/sentences.h"

namespace palimpsest::storage {
namespace {

constexpr std::string_view number_words[] = {
    "billion",  "dozen",     "eight",    "eighteen", "eighty",  "eleven",   "fifteen", "fifth",
    "fifty",    "first",     "five",     "forty",    "four",    "fourteen", "fourth",  "half",
    "hundred",  "million",   "nine",     "nineteen", "ninety",  "once",     "one",     "second",
    "seven",    "seventeen", "seventy",  "six",      "sixteen", "sixty",    "ten",     "third",
    "thirteen", "thirty",    "thousand", "three",    "twelve",  "twenty",   "twice",   "two"};
static_assert(std::is_sorted(std::begin(number_words), std::end(number_words)));

bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool is_word_byte(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (static_cast<unsigned char>(c) & 0x80) != 0;
}

char lowered(char c)
{
    return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string in_lower_case(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lowered);
    return out;
}

std::vector<std::string_view> words_of(std::string_view text)
{
    std::vector<std::string_view> words;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_word_byte(text[end]))
            ++end;
        if (end > at) words.push_back(text.substr(at, end - at));
        at = std::max(end, at + 1);
    }
    return words;
}

} // namespace

std::vector<std::string> names_in(std::string_view text)
{
    std::vector<std::string> names;
    for (const engine::TextRange& sentence : engine::sentences(text)) {
        const auto words = words_of(sentence.in(text));
        for (size_t i = 0; i < words.size(); ++i) {
            const bool is_name = is_upper(words[i][0]) && words[i] != "I";
            const bool before_name = i + 1 < words.size() && is_upper(words[i + 1][0]) && words[i + 1] != "I";
            if (is_name && (i > 0 || before_name)) names.emplace_back(words[i]);
        }
    }
    return names;
}

std::vector<std::string> numbers_in(std::string_view text)
{
    std::vector<std::string> numbers;
    for (const std::string_view word : words_of(text)) {
        const std::string small = in_lower_case(word);
        const bool has_digit = std::any_of(small.begin(), small.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (has_digit || std::binary_search(std::begin(number_words), std::end(number_words), small))
            numbers.push_back(small);
    }
    return numbers;
}

bool has_words(std::string_view text, std::string_view words)
{
    const auto wanted = words_of(words), all = words_of(text);
    const auto same = [](std::string_view a, std::string_view b) { return in_lower_case(a) == in_lower_case(b); };
    return std::search(all.begin(), all.end(), wanted.begin(), wanted.end(), same) != all.end();
}

} // namespace palimpsest::storage
