// A block of the document view that is laid out: private to the view's files.
#pragma once

#include <QTextLayout>
#include <vector>

#include "ui/document/document_view.h"

namespace palimpsest::ui {

struct DocumentView::Item {
    // A token, or the part of one that stands on a line, as a stretch of it; several where directions mix.
    struct Span {
        uint64_t token;
        int line;
        qreal left, right; // in the layout
    };

    explicit Item(TextBlock text) : block(std::move(text)), layout(block.text) {}

    TextBlock block;
    QTextLayout layout;
    qreal y = 0;       // of its top in the viewport, caption included
    qreal caption = 0; // height of what stands above the text
    qreal height = 0;
    std::vector<Span> spans; // by line; empty until painted

    qreal bottom() const { return y + height; }
    QTextLine line_of(uint64_t token) const { return layout.lineForTextPosition(block.start_of(token)); }
    qreal line_top(uint64_t token) const
    {
        if (block.kind == PartKind::Framing) return 0;
        const QTextLine line = line_of(token);
        return caption + (line.isValid() ? line.y() : 0);
    }
    void measure_spans();
};

} // namespace palimpsest::ui
