#include "storage/passages/word_query.h"

#include <algorithm>
#include <iterator>

namespace palimpsest::storage {
namespace {

constexpr std::string_view function_words[] = {
    "a",          "about",     "above",   "after",   "again",   "all",    "also",  "although", "am",     "among",
    "an",         "and",       "another", "any",     "anyone",  "are",    "as",    "at",       "be",     "because",
    "been",       "before",    "being",   "between", "both",    "but",    "by",    "can",      "could",  "did",
    "do",         "does",      "done",    "during",  "each",    "either", "else",  "ever",     "every",  "for",
    "from",       "had",       "has",     "have",    "having",  "he",     "her",   "here",     "hers",   "herself",
    "him",        "himself",   "his",     "how",     "however", "i",      "if",    "in",       "into",   "is",
    "it",         "its",       "itself",  "just",    "may",     "me",     "might", "mine",     "more",   "most",
    "much",       "must",      "my",      "myself",  "neither", "no",     "nor",   "not",      "of",     "off",
    "on",         "only",      "onto",    "or",      "other",   "our",    "ours",  "out",      "over",   "own",
    "s",          "say",       "says",    "shall",   "she",     "should", "since", "so",       "some",   "somebody",
    "someone",    "something", "such",    "t",       "than",    "that",   "the",   "their",    "theirs", "them",
    "themselves", "then",      "there",   "these",   "they",    "this",   "those", "through",  "to",     "too",
    "under",      "until",     "up",      "upon",    "us",      "very",   "was",   "we",       "were",   "what",
    "when",       "where",     "whether", "which",   "while",   "who",    "whom",  "whose",    "why",    "will",
    "with",       "within",    "without", "would",   "you",     "your",   "yours", "yourself"};
static_assert(std::is_sorted(std::begin(function_words), std::end(function_words)));

constexpr size_t max_word_bytes = 64;

bool is_upper_case(char c)
{
    return c >= 'A' && c <= 'Z';
}

// Letters beyond ASCII are left to FTS5, which also knows which of them are punctuation.
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

bool is_function_word(std::string_view word)
{
    return std::binary_search(std::begin(function_words), std::end(function_words), word);
}

// Collects the capitalised words that stand one behind another, with nothing but spaces between.
class NameCollector {
public:
    void add(std::string_view word, bool is_name)
    {
        if (!is_name) return end();
        name_ += (name_.empty() ? "" : " ") + in_small_letters(word);
        ++words_;
    }
    void end()
    {
        if (words_ > 1) names_.push_back(std::move(name_));
        name_.clear();
        words_ = 0;
    }
    std::vector<std::string> take() { return std::move(names_); }

private:
    std::string name_;
    int words_ = 0;
    std::vector<std::string> names_;
};

} // namespace

WordQuery word_query(std::string_view question)
{
    WordQuery query;
    NameCollector names;
    for (size_t at = 0; at < question.size() && query.words.size() < WordQuery::max_words;) {
        if (!is_in_word(question[at])) {
            if (question[at] != ' ') names.end();
            ++at;
            continue;
        }
        const size_t begin = at;
        while (at < question.size() && is_in_word(question[at]))
            ++at;
        const std::string_view word = question.substr(begin, std::min(at - begin, max_word_bytes));
        std::string small = in_small_letters(word);
        const bool counts = !is_function_word(small);
        names.add(word, counts && is_upper_case(word[0]));
        if (counts && std::find(query.words.begin(), query.words.end(), small) == query.words.end())
            query.words.push_back(std::move(small));
    }
    names.end();
    query.names = names.take();
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
