#include "storage/session/message_kind.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

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
    constexpr std::string_view first_person[] = {"i", "mine", "my", "our", "ours", "us", "we"};
    constexpr std::string_view asking[] = {"can", "could", "do", "please", "will", "would"}; // before "you"
    const auto words = small_words(message);
    for (size_t i = 0; i < words.size(); ++i) {
        if (is_one_of(first_person, words[i])) return true;
        const bool is_you = words[i] == "you" || words[i] == "your" || words[i] == "yours";
        if (is_you && (i == 0 || !is_one_of(asking, words[i - 1]))) return true;
    }
    return false;
}

} // namespace palimpsest::storage
