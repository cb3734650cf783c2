#include "storage/passages/passage_text_search.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <tuple>

#include "storage/passages/short_texts.h"

namespace palimpsest::storage {
namespace {

// Asks `go_on` every millisecond or so while SQLite runs, and interrupts it with SQLITE_INTERRUPT.
class Interruptible {
public:
    Interruptible(Database& database, const std::function<bool()>& go_on)
        : db_(database.sql().getHandle()), go_on_(go_on)
    {
        constexpr int steps = 10'000; // of SQLite's virtual machine
        const auto is_unwanted = [](void* self) { return static_cast<Interruptible*>(self)->go_on_() ? 0 : 1; };
        if (go_on_) sqlite3_progress_handler(db_, steps, is_unwanted, this);
    }
    ~Interruptible() { sqlite3_progress_handler(db_, 0, nullptr, nullptr); }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

private:
    sqlite3* db_;
    const std::function<bool()> go_on_;
};

// A passage with its score, of which smaller is better, as FTS5 has it.
struct ScoredPassage {
    double score = 0;
    int64_t document = 0, index = 0, id = 0;

    bool operator<(const ScoredPassage& other) const
    {
        return std::tie(score, document, index) < std::tie(other.score, other.document, other.index);
    }
};

struct FoundPassages {
    std::vector<ScoredPassage> best{};
    uint64_t count = 0;
};

// Keeps the best passages in a heap whose first one is the worst.
void keep_best(std::vector<ScoredPassage>& best, const ScoredPassage& passage, size_t limit)
{
    if (best.size() == limit) {
        if (limit == 0 || !(passage < best.front())) return;
        std::pop_heap(best.begin(), best.end());
        best.pop_back();
    }
    best.push_back(passage);
    std::push_heap(best.begin(), best.end());
}

std::string json_of(std::span<const int64_t> numbers)
{
    return nlohmann::json(std::vector<int64_t>(numbers.begin(), numbers.end())).dump();
}

std::string json_of(const std::vector<std::string>& texts)
{
    return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Passages that match `words`, unless it is empty, and contain all `literals`. The index of words is always read
// first.
SQLite::Statement find_passages(Database& database, const std::string& words,
                                const std::vector<std::string>& literals, const std::string& documents)
{
    const bool has_words = !words.empty();
    const char* sql =
        !has_words ? "SELECT 0, document, idx, passages.id FROM passage_texts "
                     "CROSS JOIN passages ON passages.id = passage_texts.rowid "
                     "WHERE document IN (SELECT value FROM json_each(?1)) "
                     "AND NOT EXISTS (SELECT 1 FROM json_each(?3) WHERE instr(passage_texts.text, value) = 0)"
        : literals.empty()
            ? "SELECT bm25(passage_texts), document, idx, passages.id FROM passage_texts "
              "CROSS JOIN passages ON passages.id = passage_texts.rowid WHERE passage_texts MATCH ?2 "
              "AND document IN (SELECT value FROM json_each(?1))"
            : "SELECT bm25(passage_texts), document, idx, passages.id FROM passage_texts "
              "CROSS JOIN passages ON passages.id = passage_texts.rowid WHERE passage_texts MATCH ?2 "
              "AND document IN (SELECT value FROM json_each(?1)) "
              "AND NOT EXISTS (SELECT 1 FROM json_each(?3) WHERE instr(passage_texts.text, value) = 0)";
    SQLite::Statement query = database.statement(sql);
    query.bind(1, documents);
    if (has_words) query.bind(2, "text : (" + words + ')');
    if (!literals.empty()) query.bind(3, json_of(literals));
    return query;
}

FoundPassages best_passages(SQLite::Statement query, size_t limit)
{
    FoundPassages found;
    while (query.executeStep()) {
        keep_best(found.best,
                  {.score = query.getColumn(0).getDouble(),
                   .document = query.getColumn(1).getInt64(),
                   .index = query.getColumn(2).getInt64(),
                   .id = query.getColumn(3).getInt64()},
                  limit);
        ++found.count;
    }
    std::sort_heap(found.best.begin(), found.best.end());
    return found;
}

std::vector<int64_t> indexed(Database& database, std::span<const int64_t> documents)
{
    std::vector<int64_t> found;
    if (!database.statement("SELECT 1 FROM main.sqlite_schema WHERE name = 'passage_texts'").executeStep())
        return found; // of an older version
    auto query = database.statement(
        "SELECT document FROM indexed_documents WHERE document IN (SELECT value FROM json_each(?))");
    query.bind(1, json_of(documents));
    while (query.executeStep())
        found.push_back(query.getColumn(0).getInt64());
    return found;
}

std::string stored_text(Database& database, int64_t passage)
{
    auto query = database.statement("SELECT text FROM passage_texts WHERE rowid = ?");
    query.bind(1, passage);
    if (!query.executeStep()) return {};
    const SQLite::Column text = query.getColumn(0);
    return {static_cast<const char*>(text.getBlob()), static_cast<size_t>(text.getBytes())};
}

void add_literals(const std::vector<std::string>& literals, std::string_view text,
                  std::vector<engine::TextRange>& found)
{
    for (const std::string& literal : literals)
        for (size_t at = text.find(literal); at != std::string_view::npos;
             at = text.find(literal, at + literal.size()))
            found.push_back({at, at + literal.size()});
}

std::vector<engine::TextRange> joined(std::vector<engine::TextRange> ranges)
{
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::vector<engine::TextRange> apart;
    for (const engine::TextRange& range : ranges) {
        if (!apart.empty() && range.begin < apart.back().end)
            apart.back().end = std::max(apart.back().end, range.end);
        else
            apart.push_back(range);
    }
    return apart;
}

// For each text: the places of what it has of `words`, and of the literals.
std::vector<std::vector<engine::TextRange>>
places(const std::string& words, const std::vector<std::string>& literals, std::span<const std::string> texts)
{
    std::vector<std::vector<engine::TextRange>> all(texts.size());
    if (!words.empty()) {
        ShortTexts index;
        for (const std::string& text : texts)
            index.add(text);
        for (ShortTexts::Match& match : index.match(words))
            all[match.text] = std::move(match.found);
    }
    for (size_t i = 0; i < texts.size(); ++i) {
        if (!words.empty() && all[i].empty()) continue;
        add_literals(literals, texts[i], all[i]);
        all[i] = joined(std::move(all[i]));
    }
    return all;
}

void add_hits(Database& database, const std::vector<ScoredPassage>& best, const std::string& words,
              const std::vector<std::string>& literals, std::vector<TextHit>& hits)
{
    std::vector<std::string> texts;
    PassageIndex index(database);
    for (const ScoredPassage& one : best)
        if (const auto passage = index.get(one.document, one.index)) {
            texts.push_back(stored_text(database, one.id));
            hits.push_back({.passage = *passage});
        }
    auto found = places(words, literals, texts);
    for (size_t i = 0; i < hits.size(); ++i) {
        hits[i].text = std::move(texts[i]);
        hits[i].found = std::move(found[i]);
    }
}

TextHits search(Database& database, const TextQuery& query, std::span<const int64_t> documents, size_t limit)
{
    TextHits hits;
    const SQLite::Transaction snapshot(database.sql()); // passages and texts of one moment
    const std::vector<int64_t> searched = indexed(database, documents);
    hits.unindexed = documents.size() - searched.size();
    if (query.is_empty() || searched.empty()) return hits;
    const std::string within = json_of(searched);
    const auto find = [&](const std::string& words) {
        return best_passages(find_passages(database, words, query.literals, within), limit);
    };
    FoundPassages found = find(query.all);
    hits.has_all_terms = found.count > 0 || query.terms < 2;
    if (!hits.has_all_terms) found = find(query.any);
    hits.passages = found.count;
    add_hits(database, found.best, hits.has_all_terms ? query.all : query.any, query.literals, hits.best);
    return hits;
}

} // namespace

std::optional<TextHits> search_passage_texts(Database& database, const TextQuery& query,
                                             std::span<const int64_t> documents, size_t limit,
                                             const std::function<bool()>& go_on)
{
    return database.guarded([&]() -> std::optional<TextHits> {
        try {
            const Interruptible interruptible(database, go_on);
            return search(database, query, documents, limit);
        } catch (const SQLite::Exception& failure) {
            if (failure.getErrorCode() == SQLITE_INTERRUPT) return std::nullopt;
            throw;
        }
    });
}

std::vector<std::vector<engine::TextRange>> found_in(const TextQuery& query, std::span<const std::string> texts)
try {
    auto all = query.is_empty() ? std::vector<std::vector<engine::TextRange>>(texts.size())
                                : places(query.all, query.literals, texts);
    const auto lacks_literal = [&](const std::string& text) {
        return std::any_of(query.literals.begin(), query.literals.end(),
                           [&](const std::string& literal) { return text.find(literal) == std::string::npos; });
    };
    for (size_t i = 0; i < texts.size(); ++i)
        if (lacks_literal(texts[i])) all[i].clear();
    return all;
} catch (const SQLite::Exception&) { // of a database in memory
    throw std::bad_alloc();
}

} // namespace palimpsest::storage
