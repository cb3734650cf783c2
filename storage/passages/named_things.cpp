#include "storage/passages/named_things.h"

#include <algorithm>
#include <iterator>

#include "engine/text/sentences.h"
#include "storage/passages/word_query.h"
#include "storage/passages/words.h"

namespace palimpsest::storage {
namespace {

constexpr std::string_view number_words[] = {
    "billion",    "dozen",    "dozens",    "eight",      "eighteen",  "eighteenth", "eighth",    "eighty",
    "eleven",     "eleventh", "fifteen",   "fifteenth",  "fifth",     "fiftieth",   "fifty",     "first",
    "five",       "fortieth", "forty",     "four",       "fourteen",  "fourteenth", "fourth",    "half",
    "hundred",    "hundreds", "hundredth", "million",    "millions",  "nine",       "nineteen",  "nineteenth",
    "ninety",     "ninth",    "once",      "one",        "second",    "seven",      "seventeen", "seventeenth",
    "seventh",    "seventy",  "six",       "sixteen",    "sixteenth", "sixth",      "sixty",     "ten",
    "tenth",      "third",    "thirteen",  "thirteenth", "thirtieth", "thirty",     "thousand",  "thousands",
    "thousandth", "three",    "thrice",    "twelfth",    "twelve",    "twentieth",  "twenty",    "twice",
    "two",        "zero"};
static_assert(std::is_sorted(std::begin(number_words), std::end(number_words)));

constexpr size_t short_sentence = 3; // words: "Lisbon.", "Darcy did."

// Words with which a short reply may begin that are no names.
bool begins_replies(std::string_view word)
{
    constexpr std::string_view replies[] = {"maybe",   "never", "nobody",  "none", "nothing",
                                            "perhaps", "sorry", "unknown", "yes"};
    const std::string small = plain_word(word);
    return is_function_word(small) || std::find(std::begin(replies), std::end(replies), small) != std::end(replies);
}

} // namespace

std::vector<std::string> names_in(std::string_view text)
{
    std::vector<std::string> names;
    for (const engine::TextRange& sentence : engine::sentences(text)) {
        const auto words = words_in(sentence.in(text));
        for (size_t i = 0; i < words.size(); ++i) {
            const bool is_name = begins_with_capital(words[i]) && words[i] != "I";
            const bool before_name =
                i + 1 < words.size() && begins_with_capital(words[i + 1]) && words[i + 1] != "I";
            const bool may_begin = before_name || (words.size() <= short_sentence && !begins_replies(words[0]));
            if (is_name && (i > 0 || may_begin)) names.emplace_back(words[i]);
        }
    }
    return names;
}

std::vector<std::string> numbers_in(std::string_view text)
{
    std::vector<std::string> numbers;
    for (const std::string_view word : words_in(text)) {
        const std::string small = plain_word(word);
        const bool has_digit = std::any_of(small.begin(), small.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (has_digit || std::binary_search(std::begin(number_words), std::end(number_words), small))
            numbers.push_back(small);
    }
    return numbers;
}

bool has_words(std::string_view text, std::string_view words)
{
    const auto wanted = words_in(words), all = words_in(text);
    const auto same = [](std::string_view a, std::string_view b) { return plain_word(a) == plain_word(b); };
    return std::search(all.begin(), all.end(), wanted.begin(), wanted.end(), same) != all.end();
}

} // namespace palimpsest::storage
