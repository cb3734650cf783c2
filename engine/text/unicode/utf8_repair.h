// Replaces invalid UTF-8 by U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

struct Utf8Scan {
    size_t valid = 0;       // bytes of complete characters from the start
    bool is_broken = false; // the text after `valid` is more than an incomplete character
};
Utf8Scan scan_utf8(std::string_view text);

// Text in which U+FFFD replaces every maximal invalid subpart (engine/text/unicode/utf8.h).
struct RepairedText {
    std::string text;
    // [text.size() + 1] source offset of every byte, and of the end. The first byte of a U+FFFD maps to the start
    // of the invalid bytes, its other bytes to their end.
    std::vector<uint32_t> source;
};
// Omits an incomplete character at the end unless `at_end`. REQUIRES: less than 4 GiB.
RepairedText repair_utf8(std::string_view bytes, bool at_end);

} // namespace palimpsest::engine
