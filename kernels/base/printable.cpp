#include "kernels/base/printable.h"

#include <cstdint>
#include <cstdio>

namespace palimpsest {

namespace {

struct Character {
    uint32_t code = 0;
    size_t bytes = 0; // 0: invalid UTF-8
};

Character first_character(std::string_view text)
{
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
    uint32_t code = lead & (0xFFu >> (bytes + 1));
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3Fu);
    }
    const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (is_overlong || is_surrogate || code > 0x10FFFF) return {};
    return {code, bytes};
}

// Whether a character is a control character, changes the text direction, or is invisible.
bool is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           code >= 0xE0000;
}

} // namespace

std::string printable(std::string_view foreign)
{
    constexpr size_t limit = 80; // bytes
    std::string out;
    while (!foreign.empty()) {
        const Character c = first_character(foreign);
        const bool shown = c.bytes > 0 && !is_hidden(c.code);
        const size_t taken = shown ? c.bytes : 1;
        char escape[5];
        if (!shown) std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(foreign[0]));
        const std::string_view part = shown ? foreign.substr(0, taken) : std::string_view(escape, 4);
        foreign.remove_prefix(taken);
        if (out.size() + part.size() > limit - (foreign.empty() ? 0 : 3)) return out + "...";
        out += part;
    }
    return out;
}

bool is_printable(std::string_view foreign)
{
    while (!foreign.empty()) {
        const Character c = first_character(foreign);
        if (c.bytes == 0 || is_hidden(c.code)) return false;
        foreign.remove_prefix(c.bytes);
    }
    return true;
}

} // namespace palimpsest
