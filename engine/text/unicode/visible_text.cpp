#include "engine/text/unicode/visible_text.h"

#include <algorithm>
#include <cstdio>

#include "engine/text/unicode/direction.h"
#include "engine/text/unicode/utf8.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

// Line ends, and invisible characters that texts are spelt with: marks of direction, joiners, the space of no width
// between words of Khmer and Thai, and selectors of a form of a Chinese character.
bool is_kept(char32_t code)
{
    return code == U'\n' || code == U'\t' || code == 0x061C || (code >= 0x200B && code <= 0x200F) ||
           code == 0x2060 || (code >= 0xE0100 && code <= 0xE01EF);
}

std::string escaped(char32_t code)
{
    char escape[16];
    std::snprintf(escape, sizeof escape, code < 0x80 ? "\\x%02x" : "\\u{%x}", static_cast<unsigned>(code));
    return escape;
}

std::string escaped_bytes(std::string_view bytes)
{
    std::string all;
    for (const char byte : bytes) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        all += escape;
    }
    return all;
}

} // namespace

std::string visible(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    std::string_view rest = text;
    const auto put = [&](char32_t code, size_t bytes, bool is_valid) {
        const std::string_view character = rest.substr(0, bytes);
        rest.remove_prefix(bytes);
        if (!is_valid)
            out += escaped_bytes(character);
        else if (is_kept(code) || is_printable(character))
            out += character;
        else
            out += escaped(code);
    };
    Utf8Decoder decoder;
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), put);
    decoder.finish(put);
    return out;
}

std::string visible_line(std::string_view text)
{
    std::string line = visible(text);
    std::ranges::replace_if(
        line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return line;
}

std::string isolated(std::string visible)
{
    bool turns = false;
    Utf8Decoder decoder;
    for (const char byte : visible)
        decoder.push(static_cast<unsigned char>(byte),
                     [&](char32_t code, size_t, bool) { turns = turns || is_right_to_left(code); });
    return turns ? "\u2068" + std::move(visible) + "\u2069" : visible;
}

} // namespace palimpsest::engine
