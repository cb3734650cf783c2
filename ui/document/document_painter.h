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
    bool underlined = false; // a line under each token; thickness shows the share that is kept
};

// All that a picture shows. The references must outlive the painter.
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
    using Inks = std::vector<std::pair<QColor, QRegion>>; // text colours, each with the cells in that colour

    void paint_item(DocumentItem& item);
    Inks paint_backgrounds(const DocumentItem& item);
    void paint_frames(const DocumentItem& item, StreamRange range, const QColor& color, qreal width);
    void paint_pins(const DocumentItem& item);
    void paint_highlights(const DocumentItem& item);
    void paint_matches(const DocumentItem& item);
    void paint_heading(const DocumentItem& item);
    void paint_caption(const DocumentItem& item);
    void paint_placeholders();
    void paint_caret();
    void paint_empty();
    QString caption_of(const DocumentItem& item) const;
    QRectF rows_of(const DocumentItem& item, StreamRange range) const; // y and height of the part in the item

    QPainter& painter_;
    const QPaintDevice& device_;
    const DocumentPicture& picture_;
    const TextColumn& column_;
    QRect viewport_;
    QColor mark_; // of pins, highlights, matches and chapters
};

} // namespace palimpsest::ui
