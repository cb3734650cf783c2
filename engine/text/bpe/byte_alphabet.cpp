#include "engine/text/bpe/byte_alphabet.h"

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

constexpr char32_t first_substitute = 0x100;

constexpr bool is_printable(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
    std::array<char32_t, 256> character{};
    std::array<int16_t, 512> byte{}; // [character]; -1: not in the alphabet
};

constexpr Alphabet make_alphabet()
{
    Alphabet alphabet;
    alphabet.byte.fill(-1);
    char32_t substitute = first_substitute;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const char32_t character = is_printable(byte) ? static_cast<char32_t>(byte) : substitute++;
        alphabet.character[byte] = character;
        alphabet.byte[character] = static_cast<int16_t>(byte);
    }
    return alphabet;
}

constexpr Alphabet alphabet = make_alphabet();

} // namespace

char32_t byte_character(uint8_t byte)
{
    return alphabet.character[byte];
}

std::optional<std::string> spelled_bytes(std::string_view piece)
{
    std::string bytes;
    bool in_alphabet = true;
    Utf8Decoder decoder;
    const auto sink = [&](char32_t code, size_t, bool) {
        if (code < alphabet.byte.size() && alphabet.byte[code] >= 0)
            bytes += static_cast<char>(alphabet.byte[code]);
        else
            in_alphabet = false;
    };
    for (const char c : piece)
        decoder.push(static_cast<unsigned char>(c), sink);
    decoder.finish(sink);
    if (!in_alphabet) return std::nullopt;
    return bytes;
}

} // namespace palimpsest::engine
