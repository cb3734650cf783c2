// The layout of one block of a message, and of one part: the blocks of one Segment. Private to the source files of
// MessageLayout.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QTextLayout>
#include <memory>
#include <vector>

#include "ui/chat/message.h"

namespace palimpsest::ui {

inline constexpr int deepest_indent = 8;

// One laid-out text of a block: a paragraph or a cell.
struct LaidBox {
    std::unique_ptr<QTextLayout> layout;
    QPointF at;    // relative to the block's top left
    int start = 0; // offset in the block's text
    const InlineText* text = nullptr;
};

struct LaidBlock {
    Block block;
    size_t ordinal = 0, first_piece = 0; // number of this piece of its text; block of the first piece
    int y = 0, height = 0;               // y from the part's top; the gap above is not in `height`
    bool laid = false;
    bool reads_leftwards = false; // list markers, quote bars and the indentation are at the right
    std::vector<LaidBox> boxes;
    QRectF frame;                      // of code
    std::vector<double> columns, rows; // grid lines of a table, including both edges
};

struct LaidPart {
    bool parsed = false;
    int height = 0; // including the gap after it
    std::vector<LaidBlock> blocks;
};

} // namespace palimpsest::ui
