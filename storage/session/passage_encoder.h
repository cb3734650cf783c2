// Encodes the passages of documents, and questions, so that they are found by their meaning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/encoder/cross_encoder.h"
#include "engine/encoder/sentence_encoder.h"
#include "engine/model/model.h"
#include "engine/text/sentences.h"
#include "kernels/backend.h"
#include "kernels/base/error.h"
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
    // From now on scores() reads sentences with this change of the encoder as it is now. `failed` is called if that
    // fails later, as for want of memory; from then on they are not read. Throws Error as engine::CrossEncoder
    // does.
    void read_sentences_with(const std::filesystem::path& change, std::function<void(const Error&)> failed)
    {
        reader_ = encoder_->cross_encoder(change);
        reading_failed_ = std::move(failed);
    }

    const std::string& identity() const { return encoder_->identity(); }
    // How many passages of the document, if it is indexed, have no embeddings yet.
    int64_t missing(Database& database, int64_t document);
    // Whether encode() has enough to do for the encoder to be fast.
    bool has_many(Database& database, int64_t document, uint64_t end);
    // Encodes the passages that have no embeddings yet and end at or before token `end`, about `most` of them, in
    // transactions of a few. Returns false if stopped.
    bool encode(Database& database, int64_t document, uint64_t end, const std::stop_token& stop,
                int64_t most = INT64_MAX);
    // The windows that encode() embeds, of a passage with these sentences, in the order of PassageVectors; none for
    // white space, which has one embedding all the same.
    static std::vector<engine::TextRange> windows_of(const std::vector<engine::TextRange>& sentences);
    bool reads_sentences() const { return reader_ != nullptr; } // read_sentences_with
    // The embeddings of texts, [texts, width], as SentenceEncoder::encode.
    std::vector<float> encode(std::span<const std::string_view> texts, const std::stop_token& stop = {})
    {
        return encoder_->encode(texts, stop);
    }
    // The embedding of a question, with a part of that of what was asked before it. None if stopped.
    QuestionMeaning meaning_of(const Question& question, const std::stop_token& stop = {});
    // How well each sentence answers the question, read together with it; larger is better, and only comparable
    // within a call. Behind a question that refers back stands the last line of what was asked before it. None if
    // the encoder does not read sentences, if that fails, or if stopped. Cost: about 90 tokens through the encoder
    // a sentence.
    std::vector<float> scores(const Question& question, std::span<const engine::SentenceInPlace> sentences,
                              const std::stop_token& stop = {});

private:
    std::unique_ptr<kernels::Backend> own_; // null: the backend is shared
    std::unique_ptr<engine::SentenceEncoder> encoder_;
    std::unique_ptr<engine::CrossEncoder> reader_; // null: does not read sentences
    std::function<void(const Error&)> reading_failed_;
};

} // namespace palimpsest::storage
