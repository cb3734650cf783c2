// Embeddings of the passages of stored documents, and how near they are to a question's.
//
// A passage has one embedding per window of its sentences (engine/text/sentences.h): a short window says what a
// long passage is about only in part. Numbers are stored as 8-bit multiples of the window's largest, which changes
// a similarity by less than 0.01. They follow from the text, so backups leave them out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "storage/database.h"

namespace palimpsest::storage {

// Cosines between a question and a passage, -1 to 1.
struct Similarity {
    double best = 0; // of its nearest window
    double mean = 0; // of the mean of its windows
};

class PassageVectors {
public:
    explicit PassageVectors(Database& database) : db_(database) {}

    // How many of the document's passages, from the first on, have embeddings of this encoder
    // (SentenceEncoder::identity).
    int64_t count(int64_t document, const std::string& encoder);
    // Adds the embeddings of the document's next passage: [windows, width], each of length 1. Within a transaction.
    // Those of another encoder are removed.
    void append(int64_t document, const std::string& encoder, std::span<const float> windows, size_t width);

    // Calls `each` for the passages of these documents that have embeddings of the encoder. Reads 400 bytes per
    // window of 384 numbers.
    using Compared = std::function<void(int64_t document, int64_t index, const Similarity& similarity)>;
    void compare(std::span<const int64_t> documents, const std::string& encoder, std::span<const float> question,
                 const Compared& each);

    // The cosines of one passage's windows, in order; none if it has no embeddings of the encoder, or damaged ones.
    std::vector<double> windows(int64_t document, int64_t index, const std::string& encoder,
                                std::span<const float> question);

private:
    Database& db_;
};

} // namespace palimpsest::storage
