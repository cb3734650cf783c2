// Finds the passages of stored documents that share words with a question.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "storage/passage_index.h"

namespace palimpsest::storage {

struct PassageHit {
    StoredPassage passage;
    double score = 0; // larger is better; comparable within one search only
};

// The best passages of these documents, best first: bm25 over content words, where a word of a heading counts half
// as much as one of the text, and a part of the score of the better neighbour is added, since an answer often
// stands behind the sentence that shares the question's words. Documents that are not indexed have none. How rare a
// word is and how long passages are is taken from the whole database. `limit`: at most so many passages.
std::vector<PassageHit> search_passages(Database& database, std::string_view question,
                                        std::span<const int64_t> documents, size_t limit = 64);

// The hits, best first, that fit into `max_tokens` together; those that do not are left out. In the order of
// documents and passages.
std::vector<PassageHit> choose_passages(std::span<const PassageHit> hits, uint64_t max_tokens);

} // namespace palimpsest::storage
