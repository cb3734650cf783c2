// Draws the visible part of a document: text with shades, marks, captions, and the caret.
#pragma once

#include <QCoreApplication>
#include <QPalette>
#include <QRegion>
#include <optional>
#include <utility>
#include <vector>

#include "ui/document/document_layout.h"
#include "ui/document/document_marks.h"
#include "ui/document/range_flash.h"
#include "ui/document/token_retention.h"

class QPainter;
class QPaintDevice;

namespace palimpsest::ui {

struct TokenShading {
    ShadeTable table;
    bool shaded = true;
    bool underlined = false; // draws a line under each token, thicker the more lists keep it
};

// Everything that the painter draws. The references must outlive the painter.
struct DocumentPicture {
    const DocumentLayout& layout;
    const TextOutline* outline; // null: no text is open
    const TokenRetention& retention;
    const TokenShading& shading;
    const DocumentMarks& marks;
    const RangeFlash& flash;
    StreamRange selection;
    std::optional<uint64_t> caret; // none: not drawn
    QPalette palette;
};

class DocumentPainter {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::DocumentPainter)
public:
    // `painter` is active and has the column's font; its device has the size of the column's viewport.
    DocumentPainter(QPainter& painter, const QPaintDevice& device, const DocumentPicture& picture);

    void paint();

private:
    // Text colours, each with the area of the text in that colour.
    using Inks = std::vector<std::pair<QColor, QRegion>>;

    void paint_item(DocumentItem& item);
    Inks paint_backgrounds(const DocumentItem& item);
    void paint_frames(const DocumentItem& item, StreamRange range, const QColor& color, qreal width);
    void paint_pins(const DocumentItem& item);
    void paint_highlights(const DocumentItem& item);
    void paint_matches(const DocumentItem& item);
    void paint_heading(const DocumentItem& item);
    void paint_pages(const DocumentItem& item);
    void paint_caption(const DocumentItem& item);
    void paint_placeholders();
    void paint_caret();
    void paint_empty();
    QString caption_of(const DocumentItem& item) const;
    // Returns y and height of the lines of `item` that have tokens of `range`; x and width are 0.
    QRectF rows_of(const DocumentItem& item, StreamRange range) const;

    QPainter& painter_;
    const QPaintDevice& device_;
    const DocumentPicture& picture_;
    const TextColumn& column_;
    QRect viewport_;
    QColor mark_; // of pins, highlights, matches and chapters
};

} // namespace palimpsest::ui
