// A stretch of the stream as text, and who reads it. Finished values: they may cross threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ui/document/text_outline.h"

namespace palimpsest::ui {

// Tokens [first, first + ends.size()) of the stream. A character may reach into the next page.
struct TextPage {
    uint64_t first = 0;
    std::string text;           // bytes of its tokens; framing has none
    std::vector<uint32_t> ends; // [tokens] byte in `text` behind each

    uint64_t last() const { return first + ends.size(); }
    bool has(uint64_t token) const { return token >= first && token < last(); }
    uint32_t begin_of(uint64_t token) const { return token == first ? 0 : ends[token - first - 1]; }
    uint32_t end_of(uint64_t token) const { return ends[token - first]; }
    std::string_view bytes(uint64_t token) const
    {
        return std::string_view(text).substr(begin_of(token), end_of(token) - begin_of(token));
    }
};

// A stretch of a document's own text, half-open.
struct ByteRange {
    uint64_t first = 0, last = 0;
};

// Belongs to one thread, the loader's, which makes it and calls it.
class PageReader {
public:
    virtual ~PageReader() = default;
    // Tokens [first, first + count) of the stream, fewer at its end. Throws Error.
    virtual TextPage read(uint64_t first, uint64_t count) = 0;
    // Which tokens of the stream spell these bytes of a document. Throws Error.
    virtual StreamRange tokens_of(const TextPart& document, ByteRange bytes) = 0;
};

} // namespace palimpsest::ui
