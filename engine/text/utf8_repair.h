// Bytes that are not UTF-8, read as U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

struct Utf8Scan {
    size_t valid = 0;       // bytes of whole characters from the start
    bool is_broken = false; // what follows is not merely an incomplete character
};
Utf8Scan scan_utf8(std::string_view text);

// A text in which U+FFFD stands for every maximal subpart that is not UTF-8 (engine/text/utf8.h).
struct RepairedText {
    std::string text;
    // [byte of text, and its size]: the byte that it comes from. A U+FFFD begins where the broken bytes begin, and
    // its other bytes come from their end.
    std::vector<uint32_t> source;
};
// An incomplete character at the end is left out, unless this is the end of the text. REQUIRES: less than 4 GiB.
RepairedText repair_utf8(std::string_view bytes, bool at_end);

} // namespace palimpsest::engine
