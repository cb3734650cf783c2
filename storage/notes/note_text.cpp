#include "storage/notes/note_text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "engine/text/sentences.h"
#include "storage/notes/telling_sentences.h"
#include "storage/passages/named_things.h"
#include "storage/passages/word_query.h"
#include "storage/passages/words.h"

namespace palimpsest::storage {
namespace {

constexpr size_t run_length = 6; // words in a row that are said a second time
constexpr double least_about = 2.0 / 3;
constexpr size_t shortest_note = 8; // words

constexpr std::string_view openers[] = {"ah",      "despite", "each",      "eventually", "finally", "following",
                                        "given",   "hence",   "including", "indeed",     "instead", "it",
                                        "later",   "many",    "meanwhile", "no",         "now",     "oh",
                                        "overall", "perhaps", "several",   "similarly",  "thus",    "together",
                                        "unlike",  "various", "yes",       "yet"};
static_assert(std::is_sorted(std::begin(openers), std::end(openers)));

// Words by which a note speaks of the text instead of saying what it says ("The passage above contains a
// sentence").
constexpr std::string_view words_for_text[] = {"note",    "notes",    "passage",  "passages",
                                               "section", "sections", "sentence", "sentences",
                                               "summary", "text",     "user",     "words"};
static_assert(std::is_sorted(std::begin(words_for_text), std::end(words_for_text)));

bool is_opener(const std::string& word)
{
    return std::binary_search(std::begin(openers), std::end(openers), word);
}

// The text of a line without the marks of a list, a heading or emphasis.
std::string_view bare(std::string_view line)
{
    constexpr std::string_view marks = " \t\r-*#>";
    const auto begin = line.find_first_not_of(marks);
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    const auto digits = line.find_first_not_of("0123456789");
    const bool is_numbered = digits > 0 && digits < 4 && digits < line.size() &&
                             (line[digits] == '.' || line[digits] == ')') &&
                             (digits + 1 == line.size() || line[digits + 1] == ' ');
    if (is_numbered) line.remove_prefix(std::min(line.size(), digits + 2));
    return line;
}

// Such as "1." before an item.
bool is_list_mark(std::string_view sentence)
{
    return bare(sentence).empty();
}

// In one paragraph, with single spaces.
std::string paragraph(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        const auto end = text.find('\n');
        for (const char c : bare(text.substr(0, end))) {
            const bool is_space = static_cast<unsigned char>(c) <= ' ';
            if (c == '*' || (is_space && (out.empty() || out.back() == ' '))) continue;
            out += is_space ? ' ' : c;
        }
        if (!out.empty() && out.back() != ' ') out += ' ';
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    while (out.ends_with(' '))
        out.pop_back();
    return out;
}

// With spaces in place of list marks and asterisks, so that places stay.
std::string without_marks(std::string_view text)
{
    std::string out(text);
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const size_t marks = end - begin - bare(text.substr(begin, end - begin)).size();
        std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(begin), marks, ' ');
        begin = end + 1;
    }
    std::replace(out.begin(), out.end(), '*', ' ');
    return out;
}

std::string joined_words(std::span<const std::string_view> words)
{
    std::string all;
    for (const std::string_view word : words)
        (all += plain_word(word)) += ' ';
    return all;
}

// The byte at which the text begins to repeat itself; its size if it does not.
size_t repetition(std::string_view text)
{
    size_t first = text.size();
    std::set<std::string> seen;
    const auto words = words_in(text);
    for (size_t i = 0; i + run_length <= words.size(); ++i)
        if (!seen.insert(joined_words(std::span(words).subspan(i, run_length))).second) {
            first = static_cast<size_t>(words[i].data() - text.data());
            break;
        }
    constexpr size_t short_sentence = 2; // words: "He did." may be said twice
    std::set<std::string> sentences;
    for (const engine::TextRange& sentence : engine::sentences(text)) {
        const auto own = words_in(sentence.in(text));
        if (own.size() > short_sentence && !sentences.insert(joined_words(own)).second)
            return std::min(first, sentence.begin);
    }
    return first;
}

bool ends_sentence(std::string_view text)
{
    while (!text.empty() && (text.back() == '"' || text.back() == '\'' || text.back() == ')'))
        text.remove_suffix(1);
    return text.ends_with(".") || text.ends_with("!") || text.ends_with("?") || text.ends_with("\u201d");
}

// Back to the end of the last whole sentence before `end`; otherwise to there.
std::string cut(std::string_view text, size_t end)
{
    text = text.substr(0, end);
    const auto all = engine::sentences(text);
    for (size_t i = all.size(); i-- > 0;)
        if (ends_sentence(all[i].in(text)) && !is_list_mark(all[i].in(text)))
            return std::string(text.substr(0, all[i].end));
    for (size_t line = text.rfind('\n'); line != std::string_view::npos && bare(text.substr(line + 1)).empty();
         line = text.rfind('\n'))
        text = text.substr(0, line); // a list mark without its item
    const auto last = text.find_last_not_of(" ,;:");
    if (last == std::string_view::npos) return "";
    return std::string(text.substr(0, last + 1)) + "...";
}

std::set<std::string> plain_words(std::string_view text)
{
    std::set<std::string> all;
    for (const std::string_view word : words_in(text))
        all.insert(plain_word(word));
    return all;
}

std::set<std::string> content_stems(std::string_view text)
{
    std::set<std::string> all;
    for (const std::string& word : plain_words(text))
        if (!is_function_word(word)) all.insert(rough_stem(word));
    return all;
}

// The words of a source, as they stand and in small letters.
class SourceWords {
public:
    explicit SourceWords(std::string_view source)
    {
        for (const std::string_view word : words_in(source)) {
            as_they_stand_.emplace(word);
            plain_.insert(plain_word(word));
        }
    }
    bool has(std::string_view word) const { return plain_.contains(plain_word(word)); }
    // With its capital letter, or in a heading in capitals.
    bool has_name(std::string_view name) const
    {
        return as_they_stand_.contains(std::string(name)) || as_they_stand_.contains(in_capitals(name));
    }

private:
    static std::string in_capitals(std::string_view word)
    {
        std::string out(word);
        for (char& c : out)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        return out;
    }
    std::set<std::string> as_they_stand_, plain_;
};

std::vector<std::string> invented_in(std::string_view text, const SourceWords& source)
{
    std::vector<std::string> invented;
    for (const std::string& number : numbers_in(text))
        if (!source.has(number)) invented.push_back(number);
    for (const engine::TextRange& sentence : engine::sentences(text)) {
        const auto words = words_in(sentence.in(text));
        for (size_t i = 0; i < words.size(); ++i) {
            if (!begins_with_capital(words[i]) || words[i] == "I") continue;
            const std::string plain = plain_word(words[i]);
            const bool is_ordinary = i == 0 && (is_function_word(plain) || is_opener(plain));
            const bool is_known = i == 0 ? source.has(words[i]) : source.has_name(words[i]);
            if (!is_ordinary && !is_known) invented.emplace_back(words[i]);
        }
    }
    return invented;
}

} // namespace

TrimmedText trimmed(std::string_view text, size_t max_words, bool ended)
{
    const std::string all = paragraph(text);
    const size_t repeated = repetition(all), end = std::min(repeated, end_of_words(all, max_words));
    const bool is_whole = end == all.size() && (ended || ends_sentence(all));
    return {.text = is_whole ? all : cut(all, end), .repeats = repeated < all.size()};
}

bool repeats_itself(std::string_view text)
{
    const std::string all = paragraph(text);
    return repetition(all) < all.size();
}

std::string without_repetition(std::string_view text)
{
    const size_t end = repetition(without_marks(text));
    return end < text.size() ? cut(text, end) : std::string(text);
}

std::vector<std::string> invented_in(std::string_view text, std::string_view source)
{
    return invented_in(text, SourceWords(source));
}

CheckedText checked(std::string_view text, std::string_view source)
{
    const SourceWords known(source);
    CheckedText result;
    const size_t end = repetition(without_marks(text));
    result.repeats = end < text.size();
    std::string whole;
    if (result.repeats) text = whole = cut(text, end);
    size_t before = 0;          // the end of the previous sentence
    size_t begin = text.size(); // of the sentence, with the mark of a list before it
    for (engine::TextRange sentence : engine::sentences(text)) {
        begin = std::min(begin, sentence.begin);
        if (is_list_mark(sentence.in(text))) continue;
        sentence.begin = std::exchange(begin, text.size());
        if (invented_in(paragraph(sentence.in(text)), known).empty()) {
            if (!result.text.empty()) result.text += text.substr(before, sentence.begin - before);
            result.text += sentence.in(text);
            ++result.kept;
        } else {
            ++result.left_out;
        }
        before = sentence.end;
    }
    return result;
}

KeptText kept_or_quoted(std::string_view written, bool ended, std::string_view heading, std::string_view source,
                        const KeptLength& length)
{
    const std::string with_heading = std::string(heading) + '\n' + std::string(source);
    TrimmedText own = trimmed(written, length.words, ended);
    const bool is_kept = is_about(own.text, with_heading) && invented_in(own.text, with_heading).empty();
    if (is_kept) return {.text = std::move(own.text), .repeats = own.repeats};
    const auto sentences = telling_sentences(source, length.sentences, length.words);
    return {.text = quoted(source, sentences, length.words),
            .refused = std::move(own.text),
            .origin = NoteOrigin::Quoted,
            .repeats = own.repeats};
}

bool is_about(std::string_view text, std::string_view source)
{
    const std::set<std::string> stems = content_stems(source), known = plain_words(source);
    if (words_in(text).size() < shortest_note) return false;
    size_t content = 0, shared = 0;
    for (const std::string& word : plain_words(text)) {
        if (is_function_word(word)) continue;
        const bool is_for_text = std::binary_search(std::begin(words_for_text), std::end(words_for_text), word);
        if (is_for_text && !known.contains(word)) return false;
        ++content;
        shared += stems.contains(rough_stem(word));
    }
    return content > 0 && static_cast<double>(shared) >= least_about * static_cast<double>(content);
}

bool is_about_all(std::string_view text, std::span<const std::string> sources)
{
    constexpr size_t most_parts = 4;
    const size_t parts = std::min(most_parts, sources.size());
    std::map<std::string, std::set<size_t>> in_parts; // by stem
    for (size_t i = 0; i < sources.size(); ++i)
        for (const std::string& stem : content_stems(sources[i]))
            in_parts[stem].insert(i * parts / sources.size());
    constexpr size_t enough = 2; // words
    std::vector<size_t> told(parts);
    for (const std::string& stem : content_stems(text)) {
        const auto found = in_parts.find(stem);
        if (found != in_parts.end() && found->second.size() == 1) ++told[*found->second.begin()];
    }
    const auto is_told = [](size_t words) { return words >= enough; };
    return std::all_of(told.begin(), told.end(), is_told);
}

} // namespace palimpsest::storage
