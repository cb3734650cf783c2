#include "ui/outline/suggested_questions.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "engine/text/sentences.h"
#include "storage/passages/word_query.h"
#include "storage/passages/words.h"
#include "ui/base/utf8.h"

namespace palimpsest::ui {
namespace {

class SuggestedQuestions {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::SuggestedQuestions)
};

constexpr qsizetype most_questions = 3, most_about_names = 2;
// Of the words within sentences of notes: with more capital letters, the language writes nouns with them.
constexpr double most_capitals = 0.3;

template<size_t Count>
bool is_one_of(const std::string_view (&words)[Count], std::string_view word)
{
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool is_of_calendar(std::string_view word)
{
    constexpr std::string_view words[] = {
        "january", "february", "march",    "april",   "may",     "june",      "july",     "august", "september",
        "october", "november", "december", "monday",  "tuesday", "wednesday", "thursday", "friday", "saturday",
        "sunday",  "chapter",  "part",     "section", "book",    "lord",      "god"};
    return is_one_of(words, word);
}

bool is_title_of_person(std::string_view word)
{
    constexpr std::string_view words[] = {"mr",   "mrs",     "miss",   "ms",       "dr",     "sir",
                                          "lady", "captain", "king",   "queen",    "prince", "princess",
                                          "aunt", "uncle",   "doctor", "professor"};
    return is_one_of(words, word);
}

bool follows_person(std::string_view word)
{
    constexpr std::string_view words[] = {"who",   "whose", "said",     "says",    "told",  "tells",
                                          "asked", "asks",  "thought",  "thinks",  "wrote", "writes",
                                          "knew",  "knows", "proposed", "married", "lived", "lives"};
    return is_one_of(words, word);
}

struct Name {
    std::string text{};
    int count = 0;        // in all notes
    std::set<int> rows{}; // with the name
    size_t first = 0;     // order of its first occurrence
    bool is_person = false;
    int words = 0;
};

// Collects runs of words with capital letters that one space separates.
class NameCollector {
public:
    void add(const QString& note, int row)
    {
        const std::string text = note.toStdString();
        for (const engine::TextRange& sentence : engine::sentences(text))
            add_sentence(sentence.in(text), row);
    }

    std::vector<Name> names() const
    {
        if (inner_ == 0 || capitals_ > most_capitals * inner_) return {};
        std::vector<Name> all;
        for (const auto& [text, name] : names_)
            all.push_back(name);
        return all;
    }

private:
    void add_sentence(std::string_view sentence, int row)
    {
        const auto words = storage::words_in(sentence);
        for (size_t i = 1; i < words.size(); ++i) {
            ++inner_;
            if (storage::begins_with_capital(words[i]) && words[i] != "I") ++capitals_;
        }
        for (size_t begin = 0; begin < words.size();) {
            size_t end = begin;
            while (end < words.size() && is_name_word(words[end]) &&
                   (end == begin || is_next(words[end - 1], words[end])))
                ++end;
            if (end == begin) {
                ++begin;
                continue;
            }
            // The first word of a sentence has a capital letter in any case.
            if (begin > 0 || end - begin > 1) add_name(words, begin, end, row);
            begin = end;
        }
    }

    static bool is_name_word(std::string_view word)
    {
        const std::string plain = storage::plain_word(word);
        return word.size() > 1 && storage::begins_with_capital(word) && !storage::is_function_word(plain) &&
               !is_of_calendar(plain);
    }

    static bool is_next(std::string_view before, std::string_view word)
    {
        return before.data() + before.size() + 1 == word.data() && before.data()[before.size()] == ' ';
    }

    void add_name(const std::vector<std::string_view>& words, size_t begin, size_t end, int row)
    {
        const std::string text(words[begin].data(), words[end - 1].data() + words[end - 1].size());
        Name& name = names_[text];
        if (name.count == 0) name.first = names_.size();
        name.text = text;
        name.words = static_cast<int>(end - begin);
        ++name.count;
        name.rows.insert(row);
        name.is_person |= is_title_of_person(storage::plain_word(words[begin])) ||
                          (end < words.size() && follows_person(storage::plain_word(words[end])));
    }

    std::map<std::string, Name> names_;
    double inner_ = 0, capitals_ = 0; // words that do not begin a sentence; those with a capital letter
};

// The title without the number in front of it; empty if it says too little.
QString telling_part(const QString& title)
{
    static const QRegularExpression number(QStringLiteral(
        "^((?i:chapter|part|book|section|kapitel|teil|buch|abschnitt)\\s+(?i:[ivxlcdm]+|\\d[\\d.]*)\\b|"
        "[IVXLCDM]+(?=[.:–—]|$)|\\d[\\d.]*\\b)[\\s.:–—-]*"));
    const QString rest = QString(title).remove(number).trimmed();
    const bool is_plain = !rest.contains(u'“') && !rest.contains(u'”') && rest.size() <= 60;
    return is_plain && rest.count(u' ') >= 1 ? rest : QString();
}

std::vector<Name> ranked_names(std::span<const OutlineRow> rows)
{
    NameCollector collector;
    int noted = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].note.isEmpty()) continue;
        ++noted;
        collector.add(rows[i].note, static_cast<int>(i));
    }
    std::vector<Name> names = collector.names();
    const auto most_rows = static_cast<size_t>(std::max(2, noted / 4));
    std::erase_if(names, [&](const Name& name) {
        return name.rows.size() > most_rows || (name.words == 1 && name.count < 2 && !name.is_person);
    });
    const auto rank = [](const Name& name) {
        return std::tuple(!name.is_person, -name.count, -std::min(name.words, 2), name.first);
    };
    std::ranges::sort(names, {}, rank);
    return names;
}

} // namespace

QStringList suggested_questions(std::span<const OutlineRow> rows)
{
    QStringList questions;
    std::set<std::string> known; // words of the names that are asked about
    for (const Name& name : ranked_names(rows)) {
        if (questions.size() == most_about_names) break;
        const auto words = storage::words_in(name.text);
        if (std::ranges::any_of(words, [&](std::string_view word) { return known.contains(std::string(word)); }))
            continue;
        known.insert(words.begin(), words.end());
        questions << (name.is_person ? SuggestedQuestions::tr("Who is %1?")
                                     : SuggestedQuestions::tr("What is said about %1?"))
                         .arg(text_of(name.text));
    }
    std::vector<const OutlineRow*> sections;
    for (const OutlineRow& row : rows)
        if (!row.note.isEmpty() && row.part <= 1 && !telling_part(row.title).isEmpty() &&
            row.kind == OutlineRow::Kind::Section)
            sections.push_back(&row);
    std::ranges::stable_sort(sections, std::greater(),
                             [](const OutlineRow* row) { return row->range.last - row->range.first; });
    for (const OutlineRow* row : sections) {
        if (questions.size() == most_questions) break;
        questions << SuggestedQuestions::tr("What happens in “%1”?").arg(telling_part(row->title));
    }
    return questions;
}

} // namespace palimpsest::ui
