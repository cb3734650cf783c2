#include "storage/passages/named_things.h"

#include <algorithm>
#include <iterator>

#include "engine/text/sentences.h"
#include "storage/passages/word_query.h"

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

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
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

// In small letters, and without the commas that group digits.
std::string plain(std::string_view word)
{
    std::string out;
    for (const char c : word)
        if (c != ',') out += lowered(c);
    return out;
}

// A comma or a point between digits belongs to their number.
bool is_in_word(std::string_view text, size_t at)
{
    if (is_word_byte(text[at])) return true;
    const bool joins = text[at] == ',' || text[at] == '.';
    return joins && at > 0 && at + 1 < text.size() && is_digit(text[at - 1]) && is_digit(text[at + 1]);
}

std::vector<std::string_view> words_of(std::string_view text)
{
    std::vector<std::string_view> words;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_in_word(text, end))
            ++end;
        if (end > at) words.push_back(text.substr(at, end - at));
        at = std::max(end, at + 1);
    }
    return words;
}

constexpr size_t short_sentence = 3; // words: "Lisbon.", "Darcy did."

// Words with which a short reply may begin that are no names.
bool begins_replies(std::string_view word)
{
    constexpr std::string_view replies[] = {"maybe",   "never", "nobody",  "none", "nothing",
                                            "perhaps", "sorry", "unknown", "yes"};
    const std::string small = plain(word);
    return is_function_word(small) || std::find(std::begin(replies), std::end(replies), small) != std::end(replies);
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
            const bool may_begin = before_name || (words.size() <= short_sentence && !begins_replies(words[0]));
            if (is_name && (i > 0 || may_begin)) names.emplace_back(words[i]);
        }
    }
    return names;
}

std::vector<std::string> numbers_in(std::string_view text)
{
    std::vector<std::string> numbers;
    for (const std::string_view word : words_of(text)) {
        const std::string small = plain(word);
        const bool has_digit = std::any_of(small.begin(), small.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (has_digit || std::binary_search(std::begin(number_words), std::end(number_words), small))
            numbers.push_back(small);
    }
    return numbers;
}

bool has_words(std::string_view text, std::string_view words)
{
    const auto wanted = words_of(words), all = words_of(text);
    const auto same = [](std::string_view a, std::string_view b) { return plain(a) == plain(b); };
    return std::search(all.begin(), all.end(), wanted.begin(), wanted.end(), same) != all.end();
}

} // namespace palimpsest::storage
