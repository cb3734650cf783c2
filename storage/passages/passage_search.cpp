#include "storage/passages/passage_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/error.h"
#include "storage/passages/named_things.h"
#include "storage/passages/passage_vectors.h"
#include "storage/passages/unspaced_text.h"
#include "storage/passages/word_query.h"
#include "storage/passages/words.h"

namespace palimpsest::storage {
namespace {

constexpr size_t min_hits = 200; // before neighbours are looked at
// Chosen on books of the training split (docs/quality.md).
constexpr double neighbour_of_words = 0.2, neighbour_of_meaning = 0.1;
constexpr double weight_of_words = 0.02; // beside cosines
constexpr double least_similar = 0.25;   // of a passage that shares no word
constexpr double weight_of_rare_name = 0.8;
constexpr size_t max_of_rare_name = 3; // passages

using PassageKey = std::pair<int64_t, int64_t>; // document, index
using Scores = std::map<PassageKey, double>;

constexpr double weight_of_referred = 0.5, weight_of_unreferred = 0.1; // of what was asked before

bool has_index(Database& database)
{
    return database.statement("SELECT 1 FROM main.sqlite_schema WHERE name = 'passage_texts'").executeStep();
}

std::string list_of(std::span<const int64_t> documents)
{
    return nlohmann::json(std::vector<int64_t>(documents.begin(), documents.end())).dump();
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
    query.bind(2, list_of(documents));
    query.bind(3, static_cast<int64_t>(std::max(limit, min_hits)));
    while (query.executeStep())
        scores[{query.getColumn(0).getInt64(), query.getColumn(1).getInt64()}] = query.getColumn(2).getDouble();
    return scores;
}

// Passages that have some of these pairs of letters, as indices into `pairs`.
struct PairHits {
    std::vector<std::pair<PassageKey, std::vector<size_t>>> passages{};
    std::vector<double> counts; // of passages, for each pair
    double searched = 0;        // passages
};

PairHits pair_hits(Database& database, std::span<const LetterPair> pairs, std::span<const int64_t> documents)
{
    const PairFinder finder(pairs);
    PairHits hits{.counts = std::vector<double>(pairs.size())};
    auto query = database.statement(
        "SELECT document, idx, passage_texts.text FROM passages "
        "CROSS JOIN passage_texts ON passage_texts.rowid = passages.id "
        "WHERE document IN (SELECT value FROM json_each(?)) AND document IN (SELECT document FROM "
        "indexed_documents)");
    query.bind(1, list_of(documents));
    while (query.executeStep()) {
        std::vector<size_t> found = finder.find_in(query.getColumn(2).getString());
        for (const size_t pair : found)
            ++hits.counts[pair];
        ++hits.searched;
        const PassageKey key(query.getColumn(0).getInt64(), query.getColumn(1).getInt64());
        if (!found.empty()) hits.passages.emplace_back(key, std::move(found));
    }
    return hits;
}

// Scores passages by how rare the letter pairs are that they share with a question without spaces. Returns the best
// max(limit, min_hits). Cost: reads every passage of the documents if the question has such text, otherwise
// nothing.
Scores pair_scores(Database& database, std::string_view question, std::span<const int64_t> documents, size_t limit)
{
    Scores scores;
    const auto pairs = letter_pairs(question, WordQuery::max_words);
    if (pairs.empty()) return scores;
    const PairHits hits = pair_hits(database, pairs, documents);
    for (const auto& [key, found] : hits.passages)
        for (const size_t pair : found)
            scores[key] += std::log(1 + (hits.searched - hits.counts[pair] + 0.5) / (hits.counts[pair] + 0.5));
    std::vector<std::pair<PassageKey, double>> best(scores.begin(), scores.end());
    std::stable_sort(best.begin(), best.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    best.resize(std::min(best.size(), std::max<size_t>(limit, min_hits)));
    return {best.begin(), best.end()};
}

// The passages that have all of these words, if they are few, else none.
std::vector<PassageKey> rare_hits(Database& database, std::span<const std::string> words,
                                  std::span<const int64_t> documents)
{
    std::string all;
    for (const std::string& word : words)
        all += '"' + word + "\" "; // FTS5 joins them with AND
    std::vector<PassageKey> hits;
    auto query = database.statement(
        "SELECT document, idx FROM passage_texts JOIN passages ON passages.id = passage_texts.rowid "
        "WHERE passage_texts MATCH ? AND document IN (SELECT value FROM json_each(?)) "
        "AND document IN (SELECT document FROM indexed_documents) LIMIT ?");
    query.bind(1, all);
    query.bind(2, list_of(documents));
    query.bind(3, static_cast<int64_t>(max_of_rare_name + 1));
    while (query.executeStep())
        hits.emplace_back(query.getColumn(0).getInt64(), query.getColumn(1).getInt64());
    if (hits.size() > max_of_rare_name) hits.clear();
    return hits;
}

// Capitals and word ends count: the index would find "described" for a question that begins with "Describe".
bool has_as_written(const std::string& text, std::string_view name)
{
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        const size_t end = at + name.size();
        if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
    }
    return false;
}

bool passage_has(Database& database, const PassageKey& key, std::string_view name)
try {
    PassageIndex index(database);
    const auto passage = index.get(key.first, key.second);
    return passage && has_as_written(index.text(*passage), name);
} catch (const Error& error) {
    if (error.code() != ErrorCode::DamagedDocument) throw;
    return false;
}

// Among many passages, some are always nearer in meaning than the one with the name.
void add_rare_names(Scores& scores, Database& database, std::string_view question,
                    std::span<const int64_t> documents)
{
    const auto listed = names_in(question);
    for (const std::string& name : std::set<std::string>(listed.begin(), listed.end())) {
        const auto words = word_query(name).words;
        if (words.empty()) continue;
        for (const PassageKey& key : rare_hits(database, words, documents))
            if (passage_has(database, key, name)) scores[key] += weight_of_rare_name;
    }
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

// By words of the question, and of what was asked before it.
Scores word_scores(Database& database, const Question& question, std::span<const int64_t> documents, size_t limit)
{
    Scores all;
    for (const auto& [text, weight] :
         {std::pair(question.text, 1.0), {question.before, question.weight_of_before()}}) {
        if (weight == 0) continue;
        const std::string expression = word_query(text).expression();
        const Scores by_words = expression.empty() ? Scores() : word_scores(database, expression, documents, limit);
        for (const Scores& scores : {by_words, pair_scores(database, text, documents, limit)})
            for (const auto& [key, score] : scores)
                all[key] += weight * score;
    }
    return all;
}

Scores scores_of(Database& database, const Question& question, std::span<const int64_t> documents, size_t limit,
                 const QuestionMeaning* meaning)
{
    const Scores words = word_scores(database, question, documents, limit);
    if (!meaning || meaning->embedding.empty()) return with_neighbours(words, neighbour_of_words);
    Scores scores = with_meaning(words, database, documents, *meaning);
    add_rare_names(scores, database, question.text, documents);
    return with_neighbours(scores, neighbour_of_meaning);
}

} // namespace

bool Question::refers_back() const
{
    const auto words = words_in(text);
    const auto refers = [](std::string_view word) { return is_pronoun(plain_word(word)); };
    return continues_what_was_said(words) ||
           (names_in(text).empty() && std::any_of(words.begin(), words.end(), refers));
}

double Question::weight_of_before() const
{
    if (before.empty()) return 0;
    return refers_back() ? weight_of_referred : weight_of_unreferred;
}

std::vector<PassageHit> search_passages(Database& database, const Question& question,
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
