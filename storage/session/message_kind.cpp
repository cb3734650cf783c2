#include "storage/session/message_kind.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "storage/passages/word_query.h"
#include "storage/passages/words.h"

namespace palimpsest::storage {
namespace {

constexpr size_t most_bytes = 1024; // of a message that are looked at

std::vector<std::string> small_words(std::string_view message)
{
    std::vector<std::string> words;
    for (const std::string_view word : words_in(message.substr(0, most_bytes)))
        words.push_back(plain_word(word));
    return words;
}

template<size_t n>
bool is_one_of(const std::string_view (&words)[n], std::string_view word)
{
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Leaves out what stands between double quotation marks: it is somebody else's.
std::string without_quotations(std::string_view text)
{
    std::string out;
    bool is_quoted = false;
    for (const char c : text) {
        if (c == '"') is_quoted = !is_quoted;
        if (!is_quoted) out += c;
    }
    return out;
}

bool ends_with_question_mark(std::string_view text)
{
    constexpr std::string_view marks[] = {"?", "\uFF1F", "\u061F"}; // ASCII, full-width, Arabic
    const std::string_view told = text.substr(0, text.find_last_not_of(" \t\r\n\"')") + 1);
    return std::any_of(std::begin(marks), std::end(marks),
                       [&](std::string_view mark) { return told.ends_with(mark); });
}

} // namespace

bool is_question(std::string_view message)
{
    constexpr std::string_view beginnings[] = {"who",   "whom", "whose", "what", "when",     "where",   "why",
                                               "which", "how",  "name",  "list", "describe", "explain", "tell"};
    if (ends_with_question_mark(message)) return true;
    const auto words = small_words(message);
    return !words.empty() && is_one_of(beginnings, words[0]);
}

bool is_about_conversation(std::string_view message)
{
    constexpr std::string_view talkers[] = {"my",    "our",    "ours",   "us",   "we",    "ich",  "mein",
                                            "meine", "meinem", "meinen", "mir",  "mich",  "wir",  "uns",
                                            "unser", "unsere", "du",     "dein", "deine", "your", "yours"};
    constexpr std::string_view asking[] = {"can", "could", "do", "please", "will", "would"}; // before "you"
    const std::string told = without_quotations(message.substr(0, most_bytes));
    const auto words = words_in(told);
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string word = plain_word(words[i]), before = i > 0 ? plain_word(words[i - 1]) : std::string();
        const bool is_capital = i > 0 && begins_with_capital(words[i]);
        if (is_one_of(talkers, word) && !(word == "us" && is_capital)) return true;
        if (words[i] == "I" && !(i > 1 && begins_with_capital(words[i - 1]))) return true; // not of "Charles I"
        if (word == "you" && !is_one_of(asking, before)) return true;
    }
    return false;
}

bool stands_alone(std::string_view question)
{
    constexpr size_t least_words = 2; // of content
    const std::string_view read = question.substr(0, most_bytes);
    const auto words = words_in(read);
    const auto refers = [](std::string_view word) { return is_pronoun(plain_word(word)); };
    return std::none_of(words.begin(), words.end(), refers) && !continues_what_was_said(words) &&
           word_query(read).words.size() >= least_words;
}

} // namespace palimpsest::storage
