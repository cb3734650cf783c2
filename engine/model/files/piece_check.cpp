#include "engine/model/files/piece_check.h"

#include <cmath>

#include "engine/model/config/limits.h"
#include "engine/model/files/utf8_check.h"

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
    const std::string thing = "piece " + std::to_string(count());
    if (ids_.size() >= limits::vocabulary)
        refuse_.fail(rules_.id, "the vocabulary has more than 2^20 pieces", Refusal::other_model);
    if (piece.empty() || piece.size() > limits::piece_bytes) {
        refuse_.fail(rules_.text, thing + " of the vocabulary has " + std::to_string(piece.size()) +
                                      " bytes, expected 1 to 4096");
    }
    if (!is_valid_utf8(piece))
        refuse_.fail(rules_.text, thing + " of the vocabulary, " + in_quotes(piece) + ", is not valid UTF-8");
    if (!std::isfinite(score)) refuse_.fail(rules_.score, "the score of " + thing + " is not a finite number");
    if (type < 1 || type > static_cast<int64_t>(PieceType::Byte))
        refuse_.fail(rules_.text, "the type of " + thing + " is " + std::to_string(type) + ", expected 1 to 6");
    if (static_cast<PieceType>(type) == PieceType::Byte && !is_byte_spelling(piece)) {
        refuse_.fail(rules_.text, thing + " of the vocabulary, " + in_quotes(piece) +
                                      ", is marked as a byte but is not spelled like <0x0A>");
    }
    const auto [at, is_new] = ids_.emplace(piece, count());
    if (!is_new) {
        refuse_.fail(rules_.id, "pieces " + std::to_string(at->second) + " and " + std::to_string(count()) +
                                    " of the vocabulary are both " + in_quotes(piece));
    }
}

} // namespace palimpsest::engine
