#include "storage/transcript/readable_text.h"

#include <algorithm>

#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

size_t character_bytes(unsigned char lead)
{
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

} // namespace

std::string readable(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        std::string_view character = text.substr(0, character_bytes(static_cast<unsigned char>(text[0])));
        const bool is_space = character == "\n" || character == "\t";
        const bool is_joiner = character == "\u200C" || character == "\u200D";
        if (is_space || is_joiner || is_printable(character)) {
            out += character;
        } else {
            character = text.substr(0, 1); // the next one begins within it if it is invalid
            out += printable(character);
        }
        text.remove_prefix(character.size());
    }
    return out;
}

std::string readable_line(std::string_view text)
{
    std::string line = readable(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::replace(line.begin(), line.end(), '\t', ' ');
    return line;
}

} // namespace palimpsest::storage
