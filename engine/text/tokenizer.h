// Text to token ids and back. Two algorithms stand behind it: the sentencepiece library, and byte-pair encoding of
// our own (engine/text/bpe).
//
// The ids of a text equal one encode of the whole of it. sentencepiece vocabularies are cut only where no piece
// reaches across, byte-level ones only between pre-tokens; a stretch of more than 64 KiB without such a place is
// cut by rule (engine/text/stretch_cutter.h). So time is linear and memory bounded for any text.
//
// Control pieces never come out of text, however it spells them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/stretch_cutter.h"
#include "engine/text/subword_encoder.h"
#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// Immutable; encode may be called from several threads at once.
class Tokenizer {
public:
    static constexpr size_t longest_stretch = engine::longest_stretch;

    // REQUIRES: vocabulary.kind is not None. Throws Error (Failed, PAL-MODEL-13) if it cannot be used. Special ids
    // that the vocabulary leaves out (-1) are taken from a tokenizer.model where it names them.
    //
    // An answer ends at the vocabulary's eos, eot and other_ends, and at control pieces that chat templates write
    // after every turn or text, such as "<|im_end|>", "<|eot_id|>" or "<end_of_turn>" (tokenizer.cpp lists them):
    // many files name only one of several.
    explicit Tokenizer(const Vocabulary& vocabulary);
    ~Tokenizer();

    // `first_piece`: this is the first text of a stream and takes the model's dummy prefix, if it has one; later
    // text continues it. An empty text has no ids. Bytes that are not UTF-8 are encoded as U+FFFD.
    std::vector<TokenId> encode(std::string_view text, bool first_piece) const;

    // Encodes what of `text` can be encoded for good, and all of it `at_end`. Appends tokens whose ranges, shifted
    // by `offset`, follow one another without a gap; returns the bytes that were encoded. The rest is to be given
    // again, with more behind it.
    size_t encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                         std::vector<EncodedToken>& out) const;

    int32_t size() const { return encoder_->size(); }
    // As the vocabulary spells it; empty for an id that it leaves out.
    const std::string& piece(TokenId id) const { return encoder_->piece(id); }
    // The text a token stands for: spaces for U+2581, one byte for a byte piece, nothing for a control piece. In a
    // byte-level vocabulary any bytes, not necessarily whole characters. Empty for ids beyond the vocabulary, which
    // the rows of a padded embedding have.
    const std::string& surface(TokenId id) const
    {
        const auto at = static_cast<size_t>(id);
        return at < surfaces_.size() ? surfaces_[at] : no_surface_;
    }
    TokenId id(std::string_view piece) const { return encoder_->id(piece); } // -1: there is none
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
    // Which mapping text must go through before encode (engine/text/normalizer.h).
    const std::string& normalizer() const { return normalizer_; }
    // The control pieces: a chat template may spell them.
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
