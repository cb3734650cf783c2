#include "storage/passages/text_query.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "engine/text/unicode/utf8.h"
#include "storage/passages/short_texts.h"
#include "storage/passages/unspaced_text.h"
#include "storage/passages/word_query.h"

namespace palimpsest::storage {
namespace {

struct CodeRange {
    char32_t first, last;
};

template<size_t count>
bool is_in(const CodeRange (&ranges)[count], char32_t code)
{
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [&](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

// Controls, spaces and invisible characters.
bool is_space(char32_t code)
{
    constexpr CodeRange spaces[] = {{0, 0x20},        {0x7F, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200F},
                                    {0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    return is_in(spaces, code);
}

bool is_quotation_mark(char32_t code)
{
    constexpr CodeRange marks[] = {{'"', '"'}, {0xAB, 0xAB}, {0xBB, 0xBB}, {0x201C, 0x201F}, {0x300C, 0x300F}};
    return is_in(marks, code);
}

struct Term {
    std::string text{};
    bool is_phrase = false;   // was typed between quotation marks
    bool is_open = false;     // nothing follows it
    bool is_unspaced = false; // has letters of a script without spaces
};

class TermCollector {
public:
    void add(char32_t code)
    {
        if (is_quotation_mark(code)) {
            end_term();
            in_quotes_ = !in_quotes_;
        } else if (!is_space(code)) {
            append(code);
        } else if (in_quotes_) {
            space_follows_ = !term_.text.empty();
        } else {
            end_term();
        }
    }

    std::vector<Term> take()
    {
        term_.is_open = !space_follows_;
        end_term();
        return std::move(terms_);
    }

private:
    void append(char32_t code)
    {
        if (term_.text.size() + 5 > TextQuery::max_term_bytes) return;
        if (std::exchange(space_follows_, false)) term_.text += ' ';
        engine::append_utf8(code, term_.text);
        term_.is_unspaced = term_.is_unspaced || is_unspaced(code);
        term_.is_phrase = in_quotes_;
    }

    void end_term()
    {
        space_follows_ = false;
        Term term = std::exchange(term_, {});
        const auto is_same = [&](const Term& other) { return other.text == term.text; };
        if (term.text.empty() || terms_.size() == TextQuery::max_terms) return;
        if (!term.is_open && std::any_of(terms_.begin(), terms_.end(), is_same)) return;
        terms_.push_back(std::move(term));
    }

    std::vector<Term> terms_;
    Term term_;
    bool in_quotes_ = false, space_follows_ = false;
};

std::vector<Term> terms_in(std::string_view typed)
{
    TermCollector terms;
    engine::Utf8Decoder decoder;
    const auto sink = [&](char32_t code, size_t, bool) { terms.add(code); };
    for (const char byte : typed.substr(0, TextQuery::max_typed_bytes))
        decoder.push(static_cast<unsigned char>(byte), sink);
    if (typed.size() <= TextQuery::max_typed_bytes) decoder.finish(sink);
    return terms.take();
}

std::string quoted(const std::string& term)
{
    return '"' + term + '"'; // a term has no quotation marks
}

// The words of a text, stemmed and not stemmed.
struct Compared {
    std::vector<std::string> stems, whole;
};

std::vector<Compared> compared(const std::vector<std::string>& texts)
{
    ShortTexts stems(ShortTexts::Words::Stems), whole(ShortTexts::Words::Whole);
    for (const std::string& text : texts) {
        stems.add(text);
        whole.add(text);
    }
    std::vector<Compared> all(texts.size());
    auto of_stems = stems.words(), of_whole = whole.words();
    for (size_t i = 0; i < texts.size(); ++i)
        all[i] = {std::move(of_stems[i]), std::move(of_whole[i])};
    return all;
}

// A word that begins with what was typed, and its stem, which may be shorter.
struct LongerWord {
    std::string word, stem;
};

std::vector<LongerWord> longer_words(const std::string& typed, const std::vector<std::string>& added)
{
    ShortTexts texts;
    for (const std::string& end : added)
        texts.add(typed + end);
    const auto stems = texts.words();
    std::vector<LongerWord> words;
    for (size_t i = 0; i < added.size(); ++i)
        if (stems[i].size() == 1) words.push_back({typed + added[i], stems[i].front()});
    return words;
}

// FTS5 stems the beginning of a word as if it were a word: of "mus", it would look for "mu", and find "music" and
// "mud". Returns words whose stems are beginnings of all the stems that begin with `typed`, and of few others.
std::vector<std::string> beginnings(const std::string& typed)
{
    std::vector<std::string> added{"", "ness", "ful"}; // of "musness", nothing is removed but "ness"
    for (const char letter : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789"))
        added.emplace_back(1, letter);
    std::vector<std::string> words;
    for (const auto& [word, stem] : longer_words(typed, added)) {
        if (stem == typed) return {word};
        const bool is_one_letter_longer = word.size() == typed.size() + 1;
        if (is_one_letter_longer && stem.starts_with(typed)) words.push_back(word);
    }
    return words;
}

// Endings that the stemmer removes.
constexpr std::string_view endings[] = {
    "able",    "ably",    "al",      "ally",     "ance",  "ances",  "ate",     "ated",  "ates",   "ating", "ation",
    "ational", "ations",  "ative",   "ator",     "ators", "ed",     "edly",    "ement", "ements", "ence",  "ences",
    "er",      "ers",     "es",      "est",      "ful",   "fully",  "fulness", "ible",  "ied",    "ies",   "ily",
    "ing",     "ingly",   "ings",    "ion",      "ions",  "ism",    "ist",     "ists",  "ities",  "ity",   "ive",
    "ively",   "iveness", "ization", "izations", "ize",   "ized",   "izer",    "izes",  "izing",  "less",  "ly",
    "ment",    "ments",   "ness",    "ous",      "ously", "ousness"};

// Words that begin with `typed` and have one of these endings, of which a part may be typed already, and whose
// stems do not begin with `typed`: "trimmed" for "trimme".
std::vector<std::string> words_with_shorter_stems(const std::string& typed)
{
    constexpr size_t min_stem = 3;
    std::vector<std::string> added, words, stems;
    for (const std::string_view ending : endings)
        for (size_t has = 0; has < ending.size(); ++has)
            if (typed.size() >= min_stem + has && typed.ends_with(ending.substr(0, has)))
                added.emplace_back(ending.substr(has));
    for (const auto& [word, stem] : longer_words(typed, added)) {
        if (stem.starts_with(typed) || std::find(stems.begin(), stems.end(), stem) != stems.end()) continue;
        words.push_back(word);
        stems.push_back(stem);
    }
    return words;
}

// An expression for this word and all words that begin with it. `typed`: without capitals and diacritics.
std::string begins_with(const std::string& typed)
{
    std::string any = quoted(typed);
    for (const std::string& word : beginnings(typed))
        any += " OR " + quoted(word) + " *";
    for (const std::string& word : words_with_shorter_stems(typed))
        any += " OR " + quoted(word);
    return '(' + any + ')';
}

size_t characters(const std::string& text)
{
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !engine::is_utf8_continuation(c); }));
}

// `words`: of the term.
std::string expression(const Term& term, const Compared& words)
{
    constexpr size_t min_prefix = 2; // characters; a single one begins a large part of all words
    if (!term.is_open || characters(words.whole.back()) < min_prefix) return quoted(term.text);
    if (words.whole.size() == 1 && is_function_word(words.whole.front())) return quoted(term.text);
    return words.whole.size() == 1 ? begins_with(words.whole.front()) : quoted(term.text) + " *";
}

bool says_little(const Term& term, const Compared& words)
{
    return !term.is_phrase && words.whole.size() == 1 && is_function_word(words.whole.front());
}

TextQuery query_of(const std::vector<Term>& terms)
{
    TextQuery query;
    std::vector<std::string> texts;
    texts.reserve(terms.size());
    for (const Term& term : terms)
        texts.push_back(term.text);
    const std::vector<Compared> words = compared(texts);
    const auto has_words = [&](size_t i) { return !terms[i].is_unspaced && !words[i].whole.empty(); };
    bool has_others = false;
    for (size_t i = 0; i < terms.size(); ++i)
        has_others = has_others || (has_words(i) && !says_little(terms[i], words[i]));
    for (size_t i = 0; i < terms.size(); ++i) {
        if (terms[i].is_unspaced) query.literals.push_back(terms[i].text);
        if (!has_words(i) || (has_others && says_little(terms[i], words[i]))) continue;
        const std::string one = expression(terms[i], words[i]);
        query.all += (query.terms == 0 ? "" : " AND ") + one;
        query.any += (query.terms == 0 ? "" : " OR ") + one;
        ++query.terms;
    }
    return query;
}

} // namespace

TextQuery text_query(std::string_view typed)
try {
    const std::vector<Term> terms = terms_in(typed);
    return terms.empty() ? TextQuery() : query_of(terms);
} catch (const SQLite::Exception&) { // of a database in memory
    throw std::bad_alloc();
}

} // namespace palimpsest::storage
