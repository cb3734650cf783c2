// A block of a message that is laid out, and the part of the message it is in: private to the layout's files.
#pragma once

#include "ui/chat/message_layout.h"

namespace palimpsest::ui {

inline constexpr int deepest_indent = 8;

// One text of a block: a paragraph, or a cell.
struct MessageLayout::Box {
    std::unique_ptr<QTextLayout> layout;
    QPointF at;    // from the block's top left
    int start = 0; // of the block's text
    const InlineText* text = nullptr;
};

struct MessageLayout::LaidBlock {
    Block block;
    size_t ordinal = 0, first_piece = 0; // among the pieces of one text; which block that begins with
    int y = 0, height = 0;               // from the part's top; the gap before is not in it
    bool laid = false;
    std::vector<Box> boxes;
    QRectF frame;
    std::vector<double> columns, rows; // lines of a table, with both ends
};

struct MessageLayout::Part {
    bool parsed = false;
    int height = 0; // with the gap after
    std::vector<LaidBlock> blocks;
};

} // namespace palimpsest::ui
