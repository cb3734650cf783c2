// Finds the passages of stored documents that a question is about: by words that they share, and by meaning.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/passage_index.h"

namespace palimpsest::storage {

struct PassageHit {
    StoredPassage passage;
    double score = 0; // larger is better; comparable within one search only
};

// A question, and the one before it: a follow-up ("and his brother?") is about something that only the
// question before it names.
struct Question {
    std::string_view text{};
    std::string_view before{}; // empty: nothing

    // How much the words and the meaning of what was asked before count beside its own: little, and more where the
    // question refers back to it: begins with "and" ("und"), or has a pronoun and no name of its own. Chosen on
    // books of the training split (docs/quality.md).
    double weight_of_before() const;
    bool refers_back() const; // to what was asked before
};

// The meaning of a question: its embedding.
struct QuestionMeaning {
    std::string encoder; // identity
    std::vector<float> embedding{};
};

// The best passages of these documents, best first. Documents that are not indexed have none.
//
// By words: bm25 over content words, where a word of a heading counts half as much as one of the text. How rare a
// word is and how long passages are is taken from the whole database. By meaning, with `meaning` and for documents
// that its encoder has encoded: the cosines of PassageVectors; a passage that shares no word and is not similar at
// all is left out, and a name of the question that at most three passages have counts much for these. A part of the
// score of the better neighbour is added, since an answer often stands behind the sentence that the question is
// about. The words of what was asked before are searched, too, and count less.
// `limit`: at most so many passages.
//
// Cost: a look-up per word, and with `meaning` a dot product per window of all the documents (1,000,000 tokens: 0.1
// s).
std::vector<PassageHit> search_passages(Database& database, const Question& question,
                                        std::span<const int64_t> documents, size_t limit = 64,
                                        const QuestionMeaning* meaning = nullptr);

// The hits, best first, that fit into `max_tokens` together; those that do not are left out. In the order of
// documents and passages.
std::vector<PassageHit> choose_passages(std::span<const PassageHit> hits, uint64_t max_tokens);

} // namespace palimpsest::storage
