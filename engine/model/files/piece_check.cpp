#include "engine/model/files/piece_check.h"

#include <cmath>

#include "engine/model/config/limits.h"
#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

bool is_upper_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

} // namespace

bool is_byte_spelling(std::string_view piece)
{
    return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>') && is_upper_hex(piece[3]) &&
           is_upper_hex(piece[4]);
}

void PieceCheck::add(std::string_view piece, float score, int64_t type)
{
    if (ids_.size() >= limits::vocabulary)
        refuse_.fail(rules_.id, Text("the vocabulary has more than 2^20 pieces"), Refusal::other_model());
    if (piece.empty() || piece.size() > limits::piece_bytes) {
        refuse_.fail(rules_.text,
                     Text("piece {0} of the vocabulary has {1} bytes, expected 1 to 4096", count(), piece.size()));
    }
    if (!is_valid_utf8(piece))
        refuse_.fail(rules_.text,
                     Text("piece {0} of the vocabulary, {1}, is not valid UTF-8", count(), in_quotes(piece)));
    if (!std::isfinite(score))
        refuse_.fail(rules_.score, Text("the score of piece {0} is not a finite number", count()));
    if (type < 1 || type > static_cast<int64_t>(PieceType::Byte))
        refuse_.fail(rules_.text, Text("the type of piece {0} is {1}, expected 1 to 6", count(), type));
    if (static_cast<PieceType>(type) == PieceType::Byte && !is_byte_spelling(piece)) {
        refuse_.fail(rules_.text,
                     Text("piece {0} of the vocabulary, {1}, is marked as a byte but is not spelled like <0x0A>",
                          count(), in_quotes(piece)));
    }
    const auto [at, is_new] = ids_.emplace(piece, count());
    if (!is_new) {
        refuse_.fail(rules_.id, Text("pieces {0} and {1} of the vocabulary are both {2}", at->second, count(),
                                     in_quotes(piece)));
    }
}

} // namespace palimpsest::engine
