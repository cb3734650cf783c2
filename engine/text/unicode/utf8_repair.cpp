#include "engine/text/unicode/utf8_repair.h"

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {

Utf8Scan scan_utf8(std::string_view text)
{
    Utf8Scan scan;
    Utf8Decoder decoder;
    for (size_t at = 0; at < text.size() && !scan.is_broken; ++at)
        decoder.push(static_cast<unsigned char>(text[at]), [&](char32_t, size_t size, bool valid) {
            if (valid && !scan.is_broken)
                scan.valid += size;
            else
                scan.is_broken = true;
        });
    return scan;
}

RepairedText repair_utf8(std::string_view bytes, bool at_end)
{
    RepairedText repaired;
    uint32_t at = 0;
    Utf8Decoder decoder;
    const auto take = [&](char32_t code, size_t size, bool) {
        const size_t begin = repaired.text.size();
        append_utf8(code, repaired.text);
        const auto end = at + static_cast<uint32_t>(size);
        const bool is_same = repaired.text.size() - begin == size;
        for (size_t i = 0; i < repaired.text.size() - begin; ++i)
            repaired.source.push_back(i == 0 || is_same ? at + static_cast<uint32_t>(i) : end);
        at = end;
    };
    for (const char byte : bytes)
        decoder.push(static_cast<unsigned char>(byte), take);
    if (at_end) decoder.finish(take);
    repaired.source.push_back(at);
    return repaired;
}

} // namespace palimpsest::engine
