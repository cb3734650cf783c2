// Turns texts into embeddings: vectors whose dot product tells how alike their meanings are. Runs models of the
// sentence-transformers library that are a BERT encoder with mean pooling, such as all-MiniLM-L6-v2 (Reimers,
// Gurevych 2019, section 3), and computes what that library computes.
//
// Cost: as engine/encoder/bert_model.h states, about 23 million operations per token for all-MiniLM-L6-v2. Texts of
// a call are computed together, 512 tokens or more at a time, which the matrix products need to be fast. A single
// short text costs as much as 40 tokens of many, because every weight is unpacked once per call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/encoder/bert_model.h"
#include "engine/encoder/cross_encoder.h"
#include "engine/encoder/encoder_folder.h"
#include "engine/encoder/word_piece.h"

namespace palimpsest::engine {

// Not thread-safe.
class SentenceEncoder {
public:
    // REQUIRES: `backend` computes on the CPU, outlives the encoder, and is not used by anything else while
    // encode() runs. The weights stay in the mapped file. Throws Error as open_encoder_folder does, and Error
    // (Resources).
    static std::unique_ptr<SentenceEncoder> open(const std::filesystem::path& folder, kernels::Backend& backend);
    // Changes the weights (engine/encoder/encoder_change.h), and with them identity(): XXH3-128 over the one before
    // and the file. Those that are changed are in memory from then on, in F32 (all-MiniLM-L6-v2: 43 MB). Throws
    // Error as changed() does, and Error (Resources); then nothing is changed.
    void change(const std::filesystem::path& change);

    int32_t width() const { return folder_.config.width; }
    // Tokens of a text that count, special ones included; what follows is cut off.
    int32_t max_tokens() const { return folder_.max_tokens; }
    // Equal for equal files and changes: 32 hex digits. Embeddings of encoders with different ones must not be
    // compared.
    const std::string& identity() const { return identity_; }

    // The embeddings, [texts, width], each of length 1. An empty text has that of its two special tokens. The bits
    // of an embedding depend neither on the other texts nor on the number of threads. Returns an empty vector once
    // `stop` is requested; takes effect within milliseconds. Throws Error (PAL-MODEL-15) if the weights give no
    // finite vector, and Error (Resources).
    std::vector<float> encode(std::span<const std::string_view> texts, const std::stop_token& stop = {});

    // Reads questions and sentences together with these weights and a change of them. The encoder, which must
    // outlive it, and it must not compute at the same time. Throws Error as CrossEncoder does.
    std::unique_ptr<CrossEncoder> cross_encoder(const std::filesystem::path& change) const;

private:
    SentenceEncoder(EncoderFolder folder, kernels::Backend& backend);
    std::unique_ptr<BertModel> model_with(const BertTensors& tensors) const;

    kernels::Backend& backend_;
    EncoderFolder folder_;
    std::string identity_;
    WordPiece tokenizer_;
    std::unique_ptr<BertModel> model_;
};

} // namespace palimpsest::engine
