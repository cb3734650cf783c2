// Text to token ids and back, through the sentencepiece library.
//
// The ids of a text equal one encode of the whole of it. The work is cut only where no piece reaches across: after
// a line end (unless the vocabulary has a piece with characters after a line end, and then only before others). A
// stretch of more than 64 KiB without such a place is cut by rule: before the last space that follows another
// character in the second half of its first 65,536 bytes, else at the last character boundary there. So time is
// linear and memory bounded for any text (reliability.md, T10).
//
// Control pieces never come out of text, however it spells them (T11).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// A token and the bytes [begin, end) of the text it stands for.
struct EncodedToken {
    TokenId id = -1;
    uint64_t begin = 0, end = 0;
};

// Immutable; encode may be called from several threads at once.
class Tokenizer {
public:
    static constexpr size_t longest_stretch = 65536;

    // REQUIRES: vocabulary.kind is not None. Throws Error (Failed, PAL-MODEL-13) if it cannot be used. Special ids
    // that the vocabulary leaves out (-1) are taken from a tokenizer.model where it names them.
    explicit Tokenizer(const Vocabulary& vocabulary);
    ~Tokenizer();

    // `first_piece`: this is the first text of a stream and takes the model's dummy prefix; later text continues
    // it. An empty text has no ids. Bytes that are not UTF-8 are encoded as U+FFFD.
    std::vector<TokenId> encode(std::string_view text, bool first_piece) const;

    // Encodes what of `text` can be encoded for good, and all of it `at_end`. Appends tokens whose ranges, shifted
    // by `offset`, follow one another without a gap; returns the bytes that were encoded. The rest is to be given
    // again, with more behind it.
    size_t encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                         std::vector<EncodedToken>& out) const;

    int32_t size() const;
    const std::string& piece(TokenId id) const; // as the vocabulary spells it
    // The text a token stands for: spaces for U+2581, one byte for a byte piece, nothing for a control piece.
    const std::string& surface(TokenId id) const;
    TokenId id(std::string_view piece) const; // -1: there is none
    bool is_control(TokenId id) const;
    bool is_byte(TokenId id) const;
    bool is_unknown(TokenId id) const;
    bool is_end(TokenId id) const { return id >= 0 && (id == eos_ || id == eot_); }
    bool adds_bos() const { return add_bos_; }
    bool adds_space_prefix() const; // a dummy prefix at the start of a stream
    TokenId bos() const { return bos_; }
    TokenId eos() const { return eos_; }
    TokenId eot() const { return eot_; }
    // Which mapping text must go through before encode (engine/text/normalizer.h).
    const std::string& normalizer() const { return normalizer_; }
    // The control pieces: a chat template may spell them.
    const std::vector<TokenId>& controls() const { return controls_; }

private:
    class Library; // two sentencepiece processors: with and without dummy prefix

    size_t next_cut(std::string_view text, bool at_end) const;
    void encode_stretch(std::string_view text, bool first_piece, uint64_t offset,
                        std::vector<EncodedToken>& out) const;
    void append(const EncodedToken& token, std::vector<EncodedToken>& out) const;
    void read_pieces();
    void note_line_ends(std::string_view piece);

    std::unique_ptr<Library> library_;
    std::vector<std::string> surfaces_;
    std::vector<uint8_t> is_control_; // [size]
    std::vector<TokenId> controls_;
    // [b]: some piece goes on with byte b after a line end
    std::array<bool, 256> line_end_continues_{};
    bool needs_lookahead_ = false; // any of them
    bool add_bos_ = false;
    std::string normalizer_;
    TokenId bos_ = -1, eos_ = -1, eot_ = -1, unknown_ = -1;
};

} // namespace palimpsest::engine
