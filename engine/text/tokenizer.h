// Text to token ids and back, with one of two algorithms: the sentencepiece library, or our own byte-pair encoding
// (engine/text/bpe).
//
// Encoding a text in parts gives the same ids as encoding all of it at once: for a sentencepiece vocabulary, text
// is split only where no piece can span the cut; for a byte-level vocabulary, only between pre-tokens. The
// exception is a stretch of more than 64 KiB without such a place, which is cut by rule
// (engine/text/subwords/stretch_cutter.h). Time is therefore linear, and memory bounded, for any text.
//
// Text never produces control pieces, even if it spells them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/subwords/stretch_cutter.h"
#include "engine/text/subwords/subword_encoder.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// Immutable; encode may be called from several threads at once.
class Tokenizer {
public:
    static constexpr size_t longest_stretch = engine::longest_stretch;

    // REQUIRES: vocabulary.kind is not None. Throws Error (Failed, PAL-MODEL-13) if the vocabulary is unusable.
    // Special ids that the vocabulary does not set (-1) are taken from a tokenizer.model if it defines them.
    //
    // An answer ends at the vocabulary's eos, eot and other_ends, and at the control pieces with which chat
    // templates end turns and texts, such as "<|im_end|>", "<|eot_id|>" or "<end_of_turn>" (listed in
    // tokenizer.cpp), because many files name only one of several.
    explicit Tokenizer(const Vocabulary& vocabulary);
    ~Tokenizer();

    // `first_piece`: this is the first text of a stream and gets the model's dummy prefix, if there is one;
    // otherwise the text continues the stream. An empty text has no ids. Invalid UTF-8 is encoded as U+FFFD.
    std::vector<TokenId> encode(std::string_view text, bool first_piece) const;

    // Encodes the part of `text` whose tokens are final, or all of it `at_end`. Appends tokens with contiguous
    // ranges, shifted by `offset`, and returns the number of bytes encoded. The caller passes the rest again,
    // followed by more text.
    size_t encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                         std::vector<EncodedToken>& out) const;

    int32_t size() const { return encoder_->size(); }
    // As spelled in the vocabulary; empty for an id that it does not use.
    const std::string& piece(TokenId id) const { return encoder_->piece(id); }
    // The text of a token: spaces for U+2581, one byte for a byte piece, nothing for a control piece. In a
    // byte-level vocabulary it may be any bytes, not necessarily complete characters. Empty for ids beyond the
    // vocabulary, which exist if the embedding is padded.
    const std::string& surface(TokenId id) const
    {
        const auto at = static_cast<size_t>(id);
        return at < surfaces_.size() ? surfaces_[at] : no_surface_;
    }
    TokenId id(std::string_view piece) const { return encoder_->id(piece); } // -1: not found
    bool is_control(TokenId id) const { return encoder_->kind(id) == PieceKind::Control; }
    bool is_byte(TokenId id) const { return encoder_->kind(id) == PieceKind::Byte; }
    bool is_unknown(TokenId id) const { return encoder_->kind(id) == PieceKind::Unknown; }
    bool is_end(TokenId id) const { return std::find(ends_.begin(), ends_.end(), id) != ends_.end(); }
    const std::vector<TokenId>& ends() const { return ends_; }
    bool adds_bos() const { return add_bos_; }
    bool adds_space_prefix() const { return encoder_->adds_space_prefix(); } // at the start of a stream
    TokenId bos() const { return bos_; }
    TokenId eos() const { return eos_; }
    TokenId eot() const { return eot_; }
    // The mapping to apply to text before encode (engine/text/normalizer.h).
    const std::string& normalizer() const { return normalizer_; }
    // The control pieces, which a chat template may print.
    const std::vector<TokenId>& controls() const { return controls_; }

private:
    void take_special_ids(const Vocabulary& vocabulary);
    void read_ends(const Vocabulary& vocabulary);

    std::unique_ptr<SubwordEncoder> encoder_;
    std::vector<std::string> surfaces_; // [size]
    std::string no_surface_;
    std::vector<TokenId> controls_, ends_;
    bool add_bos_ = false;
    std::string normalizer_;
    TokenId bos_ = -1, eos_ = -1, eot_ = -1;
};

} // namespace palimpsest::engine
