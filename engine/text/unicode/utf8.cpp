#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {

int utf8_length(char32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

void append_utf8(char32_t code, std::string& out)
{
    const int length = utf8_length(code);
    if (length == 1) {
        out += static_cast<char>(code);
        return;
    }
    const char32_t lead = (0xF00u >> length) & 0xFFu;
    out += static_cast<char>(lead | (code >> (6 * (length - 1))));
    for (int i = length - 2; i >= 0; --i)
        out += static_cast<char>(0x80u | ((code >> (6 * i)) & 0x3Fu));
}

bool is_valid_utf8(std::string_view text)
{
    Utf8Decoder decoder;
    bool all_valid = true;
    const auto note = [&](char32_t, size_t, bool valid) { all_valid = all_valid && valid; };
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), note);
    decoder.finish(note);
    return all_valid;
}

} // namespace palimpsest::engine
