#include "engine/text/subwords/subword_encoder.h"

#include "engine/text/subwords/stretch_cutter.h"

namespace palimpsest::engine {

char byte_value(std::string_view piece)
{
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    return static_cast<char>(digit(piece[3]) * 16 + digit(piece[4]));
}

std::string with_spaces(std::string_view piece)
{
    std::string out;
    while (!piece.empty()) {
        const bool marks_space = piece.starts_with(space_mark);
        out += marks_space ? ' ' : piece.front();
        piece.remove_prefix(marks_space ? space_mark.size() : 1);
    }
    return out;
}

} // namespace palimpsest::engine
