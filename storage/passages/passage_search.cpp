#include "storage/passages/passage_search.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/passages/passage_vectors.h"
#include "storage/passages/word_query.h"

namespace palimpsest::storage {
namespace {

constexpr size_t min_hits = 200; // before neighbours are looked at
// Chosen on books of the training split (docs/quality.md).
constexpr double neighbour_of_words = 0.2, neighbour_of_meaning = 0.1;
constexpr double weight_of_words = 0.03; // beside cosines
constexpr double least_similar = 0.25;   // of a passage that shares no word

using PassageKey = std::pair<int64_t, int64_t>; // document, index
using Scores = std::map<PassageKey, double>;

bool has_index(Database& database)
{
    return database.statement("SELECT 1 FROM main.sqlite_schema WHERE name = 'passage_texts'").executeStep();
}

Scores word_scores(Database& database, const std::string& words, std::span<const int64_t> documents, size_t limit)
{
    Scores scores;
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
Scores with_neighbours(const Scores& scores, double weight)
{
    const auto score_at = [&](const PassageKey& key) {
        const auto found = scores.find(key);
        return found == scores.end() ? 0.0 : found->second;
    };
    Scores all;
    for (const auto& [key, score] : scores)
        for (const int64_t step : {-1, 0, 1}) {
            const auto [document, index] = PassageKey(key.first, key.second + step);
            const double beside = std::max(score_at({document, index - 1}), score_at({document, index + 1}));
            all[{document, index}] = score_at({document, index}) + weight * beside;
        }
    return all;
}

// Passages without embeddings keep the score of their words.
Scores with_meaning(const Scores& words, Database& database, std::span<const int64_t> documents,
                    const QuestionMeaning& meaning)
{
    Scores all;
    for (const auto& [key, score] : words)
        all[key] = weight_of_words * score;
    PassageVectors(database).compare(documents, meaning.encoder, meaning.embedding,
                                     [&](int64_t document, int64_t index, const Similarity& similarity) {
                                         const PassageKey key(document, index);
                                         if (similarity.best < least_similar && !words.contains(key)) return;
                                         all[key] += similarity.best + similarity.mean;
                                     });
    return all;
}

Scores scores_of(Database& database, std::string_view question, std::span<const int64_t> documents, size_t limit,
                 const QuestionMeaning* meaning)
{
    const std::string expression = word_query(question).expression();
    const Scores words = expression.empty() ? Scores() : word_scores(database, expression, documents, limit);
    if (!meaning || meaning->embedding.empty()) return with_neighbours(words, neighbour_of_words);
    return with_neighbours(with_meaning(words, database, documents, *meaning), neighbour_of_meaning);
}

} // namespace

std::vector<PassageHit> search_passages(Database& database, std::string_view question,
                                        std::span<const int64_t> documents, size_t limit,
                                        const QuestionMeaning* meaning)
{
    return database.guarded([&] {
        std::vector<PassageHit> hits;
        if (!has_index(database)) return hits;
        const Scores scores = scores_of(database, question, documents, limit, meaning);
        std::vector<std::pair<PassageKey, double>> best(scores.begin(), scores.end());
        std::stable_sort(best.begin(), best.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        PassageIndex index(database);
        for (const auto& [key, score] : best) {
            if (hits.size() == limit) break;
            if (const auto passage = index.get(key.first, key.second)) hits.push_back({*passage, score});
        }
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
