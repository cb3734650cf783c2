#include "storage/passages/short_texts.h"

#include <SQLiteCpp/Statement.h>
#include <algorithm>

namespace palimpsest::storage {
namespace {

// Enclose a found word in the text that FTS5's highlight() returns.
constexpr char opening = '\x01', closing = '\x02';

std::string string_in(const SQLite::Column& column)
{
    return {static_cast<const char*>(column.getBlob()), static_cast<size_t>(column.getBytes())};
}

std::vector<engine::TextRange> enclosed(std::string_view marked)
{
    std::vector<engine::TextRange> ranges;
    size_t byte = 0;
    for (const char c : marked) {
        if (c == opening)
            ranges.push_back({byte, byte});
        else if (c == closing)
            ranges.back().end = byte;
        else
            ++byte;
    }
    return ranges;
}

} // namespace

ShortTexts::ShortTexts(Words words) : db_(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
{
    db_.exec(words == Words::Stems
                 ? "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2')"
                 : "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')");
    db_.exec("CREATE VIRTUAL TABLE words USING fts5vocab(texts, instance)");
    db_.exec("BEGIN"); // never committed: texts are added faster within one transaction
}

void ShortTexts::add(std::string_view text)
{
    std::string clean(text);
    for (char& c : clean) // these separate words, as a space does
        if (c == opening || c == closing || c == '\0') c = ' ';
    SQLite::Statement insert(db_, "INSERT INTO texts(rowid, text) VALUES(?, ?)");
    insert.bind(1, texts_++);
    insert.bind(2, clean);
    insert.exec();
}

std::vector<std::vector<std::string>> ShortTexts::words()
{
    std::vector<std::vector<std::string>> all(static_cast<size_t>(texts_));
    SQLite::Statement query(db_, "SELECT doc, term FROM words ORDER BY doc, offset");
    while (query.executeStep())
        all[static_cast<size_t>(query.getColumn(0).getInt64())].push_back(string_in(query.getColumn(1)));
    return all;
}

std::vector<ShortTexts::Match> ShortTexts::match(const std::string& expression)
{
    std::vector<Match> matches;
    SQLite::Statement query(
        db_, "SELECT rowid, highlight(texts, 0, char(1), char(2)) FROM texts WHERE texts MATCH ? ORDER BY rowid");
    query.bind(1, expression);
    while (query.executeStep())
        matches.push_back(
            {static_cast<size_t>(query.getColumn(0).getInt64()), enclosed(string_in(query.getColumn(1)))});
    return matches;
}

} // namespace palimpsest::storage
