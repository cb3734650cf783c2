#include "engine/text/unicode/direction.h"

#include <utf8proc.h>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

auto bidi_class(char32_t code)
{
    return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->bidi_class;
}

} // namespace

bool is_right_to_left(char32_t code)
{
    const auto kind = bidi_class(code);
    return kind == UTF8PROC_BIDI_CLASS_R || kind == UTF8PROC_BIDI_CLASS_AL || kind == UTF8PROC_BIDI_CLASS_AN;
}

bool reads_leftwards(std::string_view line)
{
    int leftwards = 0, rightwards = 0;
    const auto count = [&](char32_t code, size_t, bool is_valid) {
        const auto kind = bidi_class(is_valid ? code : replacement_character);
        if (kind == UTF8PROC_BIDI_CLASS_R || kind == UTF8PROC_BIDI_CLASS_AL) ++leftwards;
        if (kind == UTF8PROC_BIDI_CLASS_L) ++rightwards;
    };
    Utf8Decoder decoder;
    for (const char byte : line)
        decoder.push(static_cast<unsigned char>(byte), count);
    return leftwards > rightwards;
}

} // namespace palimpsest::engine
