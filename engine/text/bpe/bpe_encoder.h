// Byte-pair encoding: byte-level vocabularies (GPT-2 and its successors), and character vocabularies with byte
// fallback, as in the tokenizer.json of models that were trained with sentencepiece.
//
// A text is split at added tokens, then into pre-tokens; merge_table.h merges within each. Pre-tokens are found
// from left to right and are final once later text cannot change them, so the ids of a document fed in parts equal
// those of encoding it at once. A pre-token of more than 64 KiB is split by a fixed rule
// (engine/text/subwords/stretch_cutter.h): time is linear and memory bounded for any text.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "engine/text/bpe/added_tokens.h"
#include "engine/text/bpe/merge_table.h"
#include "engine/text/bpe/pre_tokenizer.h"
#include "engine/text/subwords/stretch_cutter.h"
#include "engine/text/subwords/subword_encoder.h"

namespace palimpsest::engine {

// Whether a piece looks like a marker, "<|...|>", which only the program may insert, whatever type the file gives
// it. For others, such as "</s>", the file decides, since they may be ordinary text in some vocabularies.
bool is_marker_spelling(std::string_view piece);

// In Vocabulary::types: a user-defined piece that absorbs the white space after it.
inline constexpr int32_t type_with_space_after = 7;

// Ordinary text never produces control pieces. Control pieces are: those that the file marks as control; those that
// it names as begin or end of a text or turn and those spelled like markers, unless merges produce them; and always
// the BOS that begins every text.
class BpeEncoder final : public SubwordEncoder {
public:
    // REQUIRES: Kind::Bpe. Throws Error (Failed, PAL-MODEL-13) for an unusable vocabulary.
    explicit BpeEncoder(const Vocabulary& vocabulary);
    ~BpeEncoder() override;

    size_t encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                         std::vector<EncodedToken>& out) const override;
    int32_t size() const override { return static_cast<int32_t>(pieces_.size()); }
    const std::string& piece(TokenId id) const override { return pieces_[static_cast<size_t>(id)]; }
    PieceKind kind(TokenId id) const override { return kinds_[static_cast<size_t>(id)]; }
    std::string surface(TokenId id) const override { return surfaces_[static_cast<size_t>(id)]; }
    TokenId id(std::string_view piece) const override;
    bool adds_space_prefix() const override { return add_space_prefix_; }

private:
    struct Encoding; // the state of one call

    void check(const Vocabulary& vocabulary) const;
    void classify_pieces(const Vocabulary& vocabulary);
    void read_pieces();
    size_t encode_window(std::string_view window, bool first_piece, bool at_end, uint64_t offset,
                         Encoding& state) const;
    size_t encode_text(std::string_view text, bool first_piece, bool complete, Encoding& state) const;
    size_t end_of_added(std::string_view text, const AddedTokens::Place& added) const;
    size_t encode_section(std::string_view text, bool first_piece, bool complete, size_t begin,
                          Encoding& state) const;
    size_t next_segment(std::string_view text, bool complete, Encoding& state) const;
    void encode_segment(std::string_view segment, bool first_piece, size_t begin, Encoding& state) const;
    void encode_word(std::string_view word, bool first_piece, size_t begin, Encoding& state) const;
    TokenId whole_piece(std::string_view word, Encoding& state) const;
    bool encodes_to_itself(TokenId id, Encoding& state) const;
    void take_symbols(std::string_view word, bool first_piece, Encoding& state) const;
    void take_characters(std::string_view word, Encoding& state) const;
    void take_byte(char byte, Encoding& state) const;
    void take_unknown(uint32_t bytes, Encoding& state) const;

    bool is_bytes_ = true;
    bool ignore_merges_ = false, fuse_unknown_ = false, add_space_prefix_ = false, prefix_spares_spaces_ = false;
    TokenId unknown_ = -1;
    std::vector<std::string> pieces_, surfaces_;        // [id]
    std::vector<PieceKind> kinds_;                      // [id]
    std::unordered_map<std::string_view, TokenId> ids_; // by piece
    std::unordered_map<std::string_view, TokenId>
        wholes_;                                       // by surface; byte-level only: pieces that text can produce
    std::array<TokenId, 256> bytes_{};                 // [byte]; -1: not in the vocabulary
    std::unordered_map<char32_t, TokenId> characters_; // character vocabularies only
    AddedTokens added_;
    std::unordered_set<TokenId> with_space_after_; // added tokens that absorb the white space after them
    std::optional<MergeTable> merges_;
    std::optional<PreTokenizer> pre_tokenizer_;
    StretchCutter cutter_;
    // [id] filled in on demand: whether the merges turn a piece's text into this single piece.
    mutable std::unique_ptr<std::atomic<uint8_t>[]> whole_states_;
};

} // namespace palimpsest::engine
