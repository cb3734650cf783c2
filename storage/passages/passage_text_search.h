// Finds the passages of many documents that contain some words, with the places of the words in each.
//
// search_passages() finds what a question is about; here every result has the words that were typed.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/text/sentences.h"
#include "storage/passage_index.h"
#include "storage/passages/text_query.h"

namespace palimpsest::storage {

struct TextHit {
    StoredPassage passage;
    std::string text{};                     // of the passage
    std::vector<engine::TextRange> found{}; // words and phrases, in bytes of `text`; ascending and apart
};

struct TextHits {
    std::vector<TextHit> best{}; // best first, by bm25
    uint64_t passages = 0;       // that were found, in all
    uint64_t unindexed = 0;      // of the documents; their passages are not found
    bool has_all_terms = true;   // false: no passage has all of them, so these have some
};

// Searches the text of these documents' passages, not what they are headed by. `limit`: of `best`. `go_on`: called
// every millisecond or so; nothing is returned once it has returned false. It must not throw. Throws Error as
// Database::guarded. REQUIRES: the connection has no transaction.
//
// Cost: 1.5 µs for each passage that has the words. Among 600,000 passages (90,000,000 words), a word that all of
// them have takes 0.8 s. Literals without a word: all passages are read, 2 µs each.
std::optional<TextHits> search_passage_texts(Database& database, const TextQuery& query,
                                             std::span<const int64_t> documents, size_t limit,
                                             const std::function<bool()>& go_on = {});

// The same for texts that are not stored as passages: for each, the places of the words if it has all terms, else
// nothing. Throws std::bad_alloc.
std::vector<std::vector<engine::TextRange>> found_in(const TextQuery& query, std::span<const std::string> texts);

} // namespace palimpsest::storage
