// Reads a question and a sentence together and says how well the sentence answers it (Nogueira, Cho 2019, section
// 3): [CLS] question [SEP] sentence [SEP] the text before it [SEP] runs through a BERT encoder, and a row of
// numbers turns the state of [CLS] into a score. Unlike an embedding, a score belongs to one question: nothing of
// it can be stored beforehand.
//
// Cost: as engine/encoder/bert_model.h states, about 23 million operations per token for all-MiniLM-L6-v2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "engine/encoder/bert_config.h"
#include "engine/encoder/bert_model.h"
#include "engine/encoder/bert_tensors.h"
#include "engine/encoder/encoder_change.h"
#include "engine/encoder/word_piece.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

struct SentenceInPlace {
    std::string_view text;
    std::string_view before; // the two sentences before it; empty: it is the first
};

// Not thread-safe.
class CrossEncoder {
public:
    // Tokens that count: the first of question and sentence, the last of what is before it. At most a quarter of
    // the encoder's positions, less one.
    static constexpr int32_t question_tokens = 64, sentence_tokens = 96, before_tokens = 80;

    // `change`: of the encoder's tensors, and with the tensor "score", [width] (engine/encoder/encoder_change.h).
    // `tokenizer` and `backend`, a CPU backend, must outlive this. Keeps weights that are changed in memory, in F32
    // (all-MiniLM-L6-v2: 43 MB). Throws Error as scored_change() and MappedFile do, Error (PAL-MODEL-S9) if the
    // encoder reads fewer than 8 tokens at once, and Error (Resources).
    CrossEncoder(const BertConfig& config, const BertTensors& tensors, const std::filesystem::path& change,
                 const WordPiece& tokenizer, kernels::Backend& backend);

    // A score for each sentence: larger is better, comparable within one question. Its bits depend neither on the
    // other sentences nor on the number of threads. Returns an empty vector once `stop` is requested. Throws Error
    // (PAL-MODEL-15) if a score is not finite, and Error (Resources).
    std::vector<float> scores(std::string_view question, std::span<const SentenceInPlace> sentences,
                              const std::stop_token& stop = {});

private:
    CrossEncoder(const BertConfig& config, ScoredChange change, const WordPiece& tokenizer,
                 kernels::Backend& backend);
    // At most so many between [CLS] and [SEP].
    std::vector<TokenId> first_tokens(std::string_view text, int32_t most) const;
    std::vector<TokenId> last_tokens(std::string_view text, int32_t most) const;

    const BertConfig config_;
    const WordPiece& tokenizer_;
    BertTensors tensors_;
    std::vector<float> score_; // [width]
    BertModel model_;
};

} // namespace palimpsest::engine
