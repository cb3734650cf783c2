// The pieces a text is laid out in: a paragraph, or a part of one that is too long, as characters to be shown.
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
    QString text;            // as shown: without its line end, with escapes for what hides
    std::vector<int> starts; // [tokens + 1] where each token begins in `text`

    // The token that the character at `position` belongs to; the last one behind the end.
    uint64_t token_at(int position) const;
    int start_of(uint64_t token) const { return starts[token - range.first]; }
    int end_of(uint64_t token) const { return starts[token - range.first + 1]; }
};

// Cuts the stream at line ends, at the borders of parts, and where no line ends for long: near every 512th token,
// at a space. Where a cut lies depends on the tokens within 320 of it and on nothing else, so any place of a stream
// can be entered. No block has more than 1,088 tokens, but for framing, which is one block whatever its length.
class BlockReader {
public:
    explicit BlockReader(TextSource& source) : source_(source) {}

    // Nothing: a page is missing, and was asked for. REQUIRES: token < source.tokens().
    std::optional<TextBlock> block_of(uint64_t token);

private:
    static constexpr uint64_t spacing = 512, reach = 256, slack = 64;

    std::optional<std::string_view> bytes(uint64_t token);
    bool ends_line(uint64_t token);
    bool is_cut(uint64_t token, StreamRange part);
    uint64_t cut_near(uint64_t border, StreamRange part);

    TextSource& source_;
    std::shared_ptr<const TextPage> page_;
    std::array<std::pair<uint64_t, uint64_t>, 4> cuts_{}; // border, cut; of the block under way
    size_t next_cut_ = 0;
    bool missing_ = false;
};

// Appends a character as it is to be shown: controls and what changes the direction of others become visible.
void append_shown(char32_t code, QString& text);

} // namespace palimpsest::ui
