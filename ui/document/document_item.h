// A laid-out block of the document view.
#pragma once

#include <QTextLayout>
#include <vector>

#include "ui/document/character_box.h"
#include "ui/document/text_block.h"
#include "ui/document/text_column.h"

namespace palimpsest::ui {

struct DocumentItem {
    // A horizontal range that a token covers on one line. It covers several where writing directions mix.
    struct Span {
        uint64_t token;
        int line;
        qreal left, right; // in layout coordinates
    };

    DocumentItem(TextBlock text, const TextColumn& column); // laid out at y = 0

    TextBlock block;
    QTextLayout layout;
    qreal y = 0;       // top in the viewport, including the caption
    qreal caption = 0; // height of the caption above the text
    qreal height = 0;
    std::vector<Span> spans; // by line; empty until painted

    qreal bottom() const { return y + height; }
    bool has_token(uint64_t token) const { return token >= block.range.first && token < block.range.last; }
    QTextLine line_of(uint64_t token) const { return layout.lineForTextPosition(block.start_of(token)); }
    qreal line_top(uint64_t token) const
    {
        if (block.kind == PartKind::Framing) return 0;
        const QTextLine line = line_of(token);
        return caption + (line.isValid() ? line.y() : 0);
    }
    // What the characters from `begin` to `end` cover together on `line`.
    CharacterBox box_of(const QTextLine& line, int begin, int end) const;
    void measure_spans();

private:
    bool mixes_directions_ = false;
};

} // namespace palimpsest::ui
