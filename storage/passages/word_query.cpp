#include "storage/passages/word_query.h"

#include <algorithm>
#include <iterator>

#include "storage/passages/words.h"

namespace palimpsest::storage {
namespace {

constexpr std::string_view function_words[] = {
    "a",      "about",   "above",   "after",   "again",   "ain",     "all",      "also",    "although",
    "am",     "among",   "an",      "and",     "another", "any",     "anyone",   "are",     "aren",
    "as",     "at",      "be",      "because", "been",    "before",  "being",    "between", "both",
    "but",    "by",      "can",     "could",   "couldn",  "d",       "did",      "didn",    "do",
    "does",   "doesn",   "don",     "done",    "during",  "each",    "either",   "else",    "ever",
    "every",  "for",     "from",    "had",     "hadn",    "has",     "hasn",     "have",    "haven",
    "having", "he",      "her",     "here",    "hers",    "herself", "him",      "himself", "his",
    "how",    "however", "i",       "if",      "in",      "into",    "is",       "isn",     "it",
    "its",    "itself",  "just",    "ll",      "m",       "may",     "me",       "might",   "mine",
    "more",   "most",    "much",    "must",    "my",      "myself",  "neither",  "no",      "nor",
    "not",    "of",      "off",     "on",      "only",    "onto",    "or",       "other",   "our",
    "ours",   "out",     "over",    "own",     "re",      "s",       "say",      "says",    "shall",
    "she",    "should",  "shouldn", "since",   "so",      "some",    "somebody", "someone", "something",
    "such",   "t",       "than",    "that",    "the",     "their",   "theirs",   "them",    "themselves",
    "then",   "there",   "these",   "they",    "this",    "those",   "through",  "to",      "too",
    "under",  "until",   "up",      "upon",    "us",      "ve",      "very",     "was",     "wasn",
    "we",     "were",    "weren",   "what",    "when",    "where",   "whether",  "which",   "while",
    "who",    "whom",    "whose",   "why",     "will",    "with",    "within",   "without", "won",
    "would",  "wouldn",  "you",     "your",    "yours",   "yourself"};
static_assert(std::is_sorted(std::begin(function_words), std::end(function_words)));

constexpr size_t max_word_bytes = 64; // longer ones are no words

bool is_upper_case(char c)
{
    return c >= 'A' && c <= 'Z';
}

// Other letters beyond ASCII are left to FTS5.
bool is_in_word(char c)
{
    return (static_cast<unsigned char>(c) & 0x80) != 0 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           is_upper_case(c);
}

std::string in_small_letters(std::string_view word)
{
    std::string out(word);
    for (char& c : out)
        if (is_upper_case(c)) c = static_cast<char>(c - 'A' + 'a');
    return out;
}

void add_new(std::vector<std::string>& list, const std::string& text)
{
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

// Collects the capitalised words that stand one behind another, with nothing but spaces between.
class NameCollector {
public:
    explicit NameCollector(std::vector<std::string>& names) : names_(names) {}
    void add(std::string_view word, bool is_name)
    {
        if (!is_name) return end();
        if (words_ == WordQuery::max_name_words) end();
        name_ += (name_.empty() ? "" : " ") + in_small_letters(word);
        ++words_;
    }
    void end()
    {
        if (words_ > 1 && names_.size() < WordQuery::max_names) add_new(names_, name_);
        name_.clear();
        words_ = 0;
    }

private:
    std::vector<std::string>& names_;
    std::string name_;
    size_t words_ = 0;
};

// FTS5 separates words at marks beyond ASCII, too, but within one quoted word of a query it would want them side by
// side. Removes the next word from the text and returns it; empty if a mark or a space was removed.
std::string_view take_word(std::string_view& text)
{
    size_t end = 0;
    while (end < text.size() && is_in_word(text[end]) && wide_mark(text.substr(end)) == 0)
        ++end;
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end > 0 ? end : std::max<size_t>(1, wide_mark(text)));
    return word;
}

} // namespace

bool is_function_word(std::string_view word)
{
    return std::binary_search(std::begin(function_words), std::end(function_words), word);
}

WordQuery word_query(std::string_view question)
{
    WordQuery query;
    NameCollector names(query.names);
    while (!question.empty() && query.words.size() < WordQuery::max_words) {
        const bool is_space = question.front() == ' ';
        const std::string_view word = take_word(question);
        if (word.empty() && !is_space) names.end();
        if (word.empty() || word.size() > max_word_bytes) continue;
        const std::string small = in_small_letters(word);
        const bool counts = !is_function_word(small);
        names.add(word, counts && is_upper_case(word[0]));
        if (counts) add_new(query.words, small);
    }
    names.end();
    return query;
}

std::string WordQuery::expression() const
{
    std::string all;
    for (const auto* list : {&words, &names})
        for (const std::string& phrase : *list)
            ((all += all.empty() ? "\"" : " OR \"") += phrase) += '"';
    return all;
}

} // namespace palimpsest::storage
