#include "kernels/base/packed_text.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/error.h"

namespace palimpsest {
namespace {

constexpr size_t room = sizeof PackedText{}.bytes;
constexpr size_t most_verbatim = room - 6; // Text::packed() writes "v1014:" in front of the text

// Cuts the text to most_verbatim bytes or fewer, never inside a UTF-8 character.
std::string truncated(std::string text)
{
    size_t size = std::min(text.size(), most_verbatim);
    while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
        --size;
    text.resize(size);
    return text;
}

} // namespace

PackedText pack(const Text& text)
{
    PackedText to;
    if (text.empty()) return to;
    std::string packed = text.packed();
    if (packed.size() > room || !Text::unpacked(packed))
        packed = Text::verbatim(truncated(text.english())).packed();
    to.size = static_cast<uint32_t>(packed.size());
    std::memcpy(to.bytes, packed.data(), packed.size());
    return to;
}

Text unpack(const PackedText& packed)
{
    if (packed.size == 0) return {};
    const std::string_view bytes(packed.bytes, std::min<size_t>(packed.size, room));
    return Text::unpacked(bytes).value_or(Text::escaped(bytes));
}

} // namespace palimpsest
