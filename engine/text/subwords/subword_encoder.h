// The interface between Tokenizer and the algorithm of a vocabulary. Implementations: SentencepieceEncoder,
// BpeEncoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// A token, and the range [begin, end) of the text that it represents, in bytes.
struct EncodedToken {
    TokenId id = -1;
    uint64_t begin = 0, end = 0;
};

enum class PieceKind : uint8_t { Normal, Unknown, Control, UserDefined, Unused, Byte };

// Immutable; encode_prefix may be called from several threads at once.
class SubwordEncoder {
public:
    virtual ~SubwordEncoder() = default;

    // As Tokenizer::encode_prefix.
    virtual size_t encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                                 std::vector<EncodedToken>& out) const = 0;

    virtual int32_t size() const = 0;
    // REQUIRES: 0 <= id < size().
    virtual const std::string& piece(TokenId id) const = 0;
    virtual PieceKind kind(TokenId id) const = 0;
    virtual std::string surface(TokenId id) const = 0;
    virtual TokenId id(std::string_view piece) const = 0; // -1: not found
    virtual bool adds_space_prefix() const = 0;
};

// The byte of a piece such as "<0x0A>". REQUIRES: a byte piece.
char byte_value(std::string_view piece);

// The piece with U+2581 replaced by spaces.
std::string with_spaces(std::string_view piece);

} // namespace palimpsest::engine
