// A block is the unit in which text is laid out: a paragraph, or a piece of a long one, as displayed characters.
#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/document/text_source.h"

namespace palimpsest::ui {

struct TextBlock {
    StreamRange range;
    PartKind kind = PartKind::Framing;
    bool begins_part = false;
    QString text;            // displayed text: without its line end, invisible characters escaped
    std::vector<int> starts; // [tokens + 1] start of each token in `text`

    // Returns the token of the character at `position`; at the end of the text, the last token.
    uint64_t token_at(int position) const;
    int start_of(uint64_t token) const { return starts[token - range.first]; }
    int end_of(uint64_t token) const { return starts[token - range.first + 1]; }
};

// Cuts the stream at line ends, at borders of parts, and in long lines near every 512th token, at a space. A cut
// depends only on the tokens within 320 of it, so that reading can start anywhere in the stream. A block has at
// most 1,088 tokens, except framing, which is one block of any length.
class BlockReader {
public:
    explicit BlockReader(TextSource& source) : source_(source) {}

    // Returns the block with the token. If a page is not loaded, requests the page and returns nothing. REQUIRES:
    // token < source.tokens().
    std::optional<TextBlock> block_of(uint64_t token);

private:
    static constexpr uint64_t spacing = 512, reach = 256, slack = 64;

    std::optional<std::string_view> bytes(uint64_t token);
    bool ends_line(uint64_t token);
    bool is_cut(uint64_t token, StreamRange part);
    uint64_t cut_near(uint64_t border, StreamRange part);

    TextSource& source_;
    std::shared_ptr<const TextPage> page_;
    std::array<std::pair<uint64_t, uint64_t>, 4> cuts_{}; // (border, cut) pairs, cached for the current block
    size_t next_cut_ = 0;
    bool missing_ = false;
};

// Appends a character as displayed: control characters and direction marks become visible.
void append_shown(char32_t code, QString& text);

} // namespace palimpsest::ui
