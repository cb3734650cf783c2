// A page of the stream as text, and the interface that reads it. Pages are values and may cross threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/unicode/utf8.h"
#include "ui/document/text_outline.h"

namespace palimpsest::ui {

// Tokens [first, first + ends.size()) of the stream. The last character may continue on the next page.
struct TextPage {
    uint64_t first = 0;
    std::string text;           // bytes of its tokens; framing has none
    std::vector<uint32_t> ends; // [tokens] offset in `text` after each token

    uint64_t last() const { return first + ends.size(); }
    bool has(uint64_t token) const { return token >= first && token < last(); }
    uint32_t begin_of(uint64_t token) const { return token == first ? 0 : ends[token - first - 1]; }
    uint32_t end_of(uint64_t token) const { return ends[token - first]; }
    std::string_view bytes(uint64_t token) const
    {
        return std::string_view(text).substr(begin_of(token), end_of(token) - begin_of(token));
    }
    // Like bytes(), with what other tokens of the page have of its first and its last character.
    std::string_view characters(uint64_t token) const
    {
        size_t begin = begin_of(token), end = end_of(token);
        if (begin == end) return {};
        while (begin > 0 && engine::is_utf8_continuation(text[begin]))
            --begin;
        while (end < text.size() && engine::is_utf8_continuation(text[end]))
            ++end;
        return std::string_view(text).substr(begin, end - begin);
    }
};

// A range of bytes of a document's text, half-open.
struct ByteRange {
    uint64_t first = 0, last = 0;
};

// Created and used by a single thread, the loader's.
class PageReader {
public:
    virtual ~PageReader() = default;
    // Returns tokens [first, first + count) of the stream, fewer at its end. Throws Error.
    virtual TextPage read(uint64_t first, uint64_t count) = 0;
    // Returns the tokens of the stream that spell these bytes of a document. Throws Error.
    virtual StreamRange tokens_of(const TextPart& document, ByteRange bytes) = 0;
};

} // namespace palimpsest::ui
