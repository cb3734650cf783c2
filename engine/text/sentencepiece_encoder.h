// Encoding through the sentencepiece library.
#pragma once

#include <memory>
#include <span>

#include "engine/text/subwords/stretch_cutter.h"
#include "engine/text/subwords/subword_encoder.h"

namespace palimpsest::engine {

class SentencepieceEncoder final : public SubwordEncoder {
public:
    // REQUIRES: Kind::SpmPieces or Kind::SpmModel. Throws Error (Failed, PAL-MODEL-13) if the vocabulary is
    // unusable.
    explicit SentencepieceEncoder(const Vocabulary& vocabulary);
    ~SentencepieceEncoder() override;

    size_t encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                         std::vector<EncodedToken>& out) const override;
    int32_t size() const override;
    const std::string& piece(TokenId id) const override;
    PieceKind kind(TokenId id) const override;
    std::string surface(TokenId id) const override;
    TokenId id(std::string_view piece) const override;
    bool adds_space_prefix() const override;

    // As the model defines them; -1 if it does not.
    TokenId bos() const;
    TokenId eos() const;

private:
    class Library; // two sentencepiece processors, with and without dummy prefix

    void encode_stretch(std::string_view text, bool first_piece, uint64_t offset,
                        std::vector<EncodedToken>& out) const;
    // `source`: [text.size() + 1] original offset of every byte, and of the end; empty: `text` is the original.
    // REQUIRES: valid UTF-8.
    void encode_valid(std::string_view text, bool first_piece, uint64_t offset, std::span<const uint32_t> source,
                      std::vector<EncodedToken>& out) const;
    void append(const EncodedToken& token, std::vector<EncodedToken>& out) const;

    std::unique_ptr<Library> library_;
    StretchCutter cutter_;
    TokenId unknown_ = -1;
};

} // namespace palimpsest::engine
