#include "storage/passages/passage_search.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/passages/word_query.h"

namespace palimpsest::storage {
namespace {

constexpr size_t min_hits = 200;         // before neighbours are looked at
constexpr double neighbour_weight = 0.2; // chosen on books of the training split (docs/quality.md)

using PassageKey = std::pair<int64_t, int64_t>; // document, index

bool has_index(Database& database)
{
    return database.statement("SELECT 1 FROM main.sqlite_schema WHERE name = 'passage_texts'").executeStep();
}

std::map<PassageKey, double> word_scores(Database& database, const std::string& words,
                                         std::span<const int64_t> documents, size_t limit)
{
    std::map<PassageKey, double> scores;
    auto query = database.statement(
        "SELECT document, idx, -bm25(passage_texts, 1.0, 0.5) AS score FROM passage_texts "
        "JOIN passages ON passages.id = passage_texts.rowid WHERE passage_texts MATCH ? "
        "AND document IN (SELECT value FROM json_each(?)) AND document IN (SELECT document FROM indexed_documents) "
        "ORDER BY score DESC, document, idx LIMIT ?");
    query.bind(1, words);
    query.bind(2, nlohmann::json(std::vector<int64_t>(documents.begin(), documents.end())).dump());
    query.bind(3, static_cast<int64_t>(std::max(limit, min_hits)));
    while (query.executeStep())
        scores[{query.getColumn(0).getInt64(), query.getColumn(1).getInt64()}] = query.getColumn(2).getDouble();
    return scores;
}

// Adds to each passage a part of the score of its better neighbour; a neighbour may have none of its own.
std::map<PassageKey, double> with_neighbours(const std::map<PassageKey, double>& scores)
{
    const auto score_at = [&](const PassageKey& key) {
        const auto found = scores.find(key);
        return found == scores.end() ? 0.0 : found->second;
    };
    std::map<PassageKey, double> all;
    for (const auto& [key, score] : scores)
        for (const int64_t step : {-1, 0, 1}) {
            const auto [document, index] = PassageKey(key.first, key.second + step);
            const double beside = std::max(score_at({document, index - 1}), score_at({document, index + 1}));
            all[{document, index}] = score_at({document, index}) + neighbour_weight * beside;
        }
    return all;
}

} // namespace

std::vector<PassageHit> search_passages(Database& database, std::string_view question,
                                        std::span<const int64_t> documents, size_t limit)
{
    return database.guarded([&] {
        std::vector<PassageHit> hits;
        const std::string words = word_query(question).expression();
        if (words.empty() || !has_index(database)) return hits;
        PassageIndex index(database);
        for (const auto& [key, score] : with_neighbours(word_scores(database, words, documents, limit)))
            if (const auto passage = index.get(key.first, key.second)) hits.push_back({*passage, score});
        std::stable_sort(hits.begin(), hits.end(),
                         [](const PassageHit& a, const PassageHit& b) { return a.score > b.score; });
        hits.resize(std::min(hits.size(), limit));
        return hits;
    });
}

std::vector<PassageHit> choose_passages(std::span<const PassageHit> hits, uint64_t max_tokens)
{
    std::vector<PassageHit> chosen;
    uint64_t tokens = 0;
    for (const PassageHit& hit : hits) {
        if (tokens + hit.passage.tokens() > max_tokens) continue;
        tokens += hit.passage.tokens();
        chosen.push_back(hit);
    }
    std::sort(chosen.begin(), chosen.end(), [](const PassageHit& a, const PassageHit& b) {
        return std::pair(a.passage.document, a.passage.index) < std::pair(b.passage.document, b.passage.index);
    });
    return chosen;
}

} // namespace palimpsest::storage
