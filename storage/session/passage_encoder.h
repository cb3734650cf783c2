// Encodes the passages of documents, and questions, so that they are found by their meaning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/encoder/sentence_encoder.h"
#include "engine/model/model.h"
#include "kernels/backend.h"
#include "storage/database.h"
#include "storage/passages/passage_search.h"

namespace palimpsest::storage {

// The backend of a model that an encoder can share; null if it is not the CPU.
kernels::Backend* shared_by_encoder(const engine::Model& model);

class PassageEncoder {
public:
    // `backend`: a CPU backend to share, which must outlive this; null: one of its own. Throws Error as
    // engine::SentenceEncoder::open does.
    PassageEncoder(const std::filesystem::path& folder, kernels::Backend* backend);
    // As engine::SentenceEncoder::change: what was stored until now counts as missing.
    void change(const std::filesystem::path& change) { encoder_->change(change); }

    const std::string& identity() const { return encoder_->identity(); }
    // How many passages of the document, if it is indexed, have no embeddings yet.
    int64_t missing(Database& database, int64_t document);
    // Whether encode() has enough to do for the encoder to be fast.
    bool has_many(Database& database, int64_t document, uint64_t end);
    // Encodes the passages that have no embeddings yet and end at or before token `end`, about `most` of them, in
    // transactions of a few. Returns false if stopped.
    bool encode(Database& database, int64_t document, uint64_t end, const std::stop_token& stop,
                int64_t most = INT64_MAX);
    // The embeddings of texts, [texts, width], as SentenceEncoder::encode.
    std::vector<float> encode(std::span<const std::string_view> texts, const std::stop_token& stop = {})
    {
        return encoder_->encode(texts, stop);
    }
    // The embedding of a question, with a part of that of what was asked before it. None if stopped.
    QuestionMeaning meaning_of(const Question& question, const std::stop_token& stop = {});

private:
    std::unique_ptr<kernels::Backend> own_; // null: the backend is shared
    std::unique_ptr<engine::SentenceEncoder> encoder_;
};

} // namespace palimpsest::storage
