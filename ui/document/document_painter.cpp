#include "ui/document/document_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

bool overlap(StreamRange a, StreamRange b)
{
    return a.first < b.last && b.first < a.last;
}

bool has(StreamRange range, uint64_t token)
{
    return token >= range.first && token < range.last;
}

} // namespace

DocumentPainter::DocumentPainter(QPainter& painter, const QPaintDevice& device, const DocumentPicture& picture)
    : painter_(painter), device_(device), picture_(picture), column_(picture.layout.column()),
      viewport_(QPoint(), column_.viewport()), mark_(accent(picture.palette))
{
}

void DocumentPainter::paint()
{
    painter_.fillRect(viewport_, picture_.palette.color(QPalette::Base));
    if (!picture_.outline || picture_.outline->tokens == 0) return paint_empty();
    for (DocumentItem* item : picture_.layout.visible())
        paint_item(*item);
    paint_placeholders();
    paint_caret();
}

void DocumentPainter::paint_empty()
{
    painter_.setPen(secondary_text(picture_.palette));
    painter_.drawText(viewport_, Qt::AlignCenter | Qt::TextWordWrap,
                      tr("Nothing has been read yet.\nOpen a document to see here how it is remembered."));
}

void DocumentPainter::paint_item(DocumentItem& item)
{
    paint_caption(item);
    if (item.block.kind == PartKind::Framing) return;
    item.measure_spans();
    const Inks inks = paint_backgrounds(item);
    const QPointF at(column_.left(), item.y + item.caption);
    for (const auto& [ink, region] : inks) {
        painter_.save();
        if (inks.size() > 1) painter_.setClipRegion(region);
        painter_.setPen(ink);
        item.layout.draw(&painter_, at, {}, QRectF(viewport_));
        painter_.restore();
    }
    painter_.setRenderHint(QPainter::Antialiasing);
    paint_pins(item);
    paint_highlights(item);
    painter_.setRenderHint(QPainter::Antialiasing, false);
    paint_matches(item);
    paint_heading(item);
    paint_pages(item);
}

DocumentPainter::Inks DocumentPainter::paint_backgrounds(const DocumentItem& item)
{
    const QPalette& palette = picture_.palette;
    const TokenShading& shading = picture_.shading;
    const std::vector<double> shares = picture_.retention.shares(item.block.range);
    const uint64_t read = picture_.retention.tokens_read();
    const qreal line_height = column_.line_height();
    const QColor unread = readable(secondary_text(palette), palette, QPalette::Base);
    const QColor under = readable(palette.color(QPalette::Highlight), palette, QPalette::Base, 3.0);
    Inks inks;
    const auto region_of = [&](const QColor& ink) -> QRegion& {
        for (auto& [known, region] : inks)
            if (known == ink) return region;
        return inks.emplace_back(ink, QRegion()).second;
    };
    for (const DocumentItem::Span& span : item.spans) {
        const QTextLine line = item.layout.lineAt(span.line);
        const qreal top = item.y + item.caption + line.y();
        if (top + 2 * line.height() < 0 || top - line.height() > viewport_.height()) continue;
        const qreal between = (line_height - line.height()) / 2;
        const int left = qRound(column_.left() + span.left), right = qRound(column_.left() + span.right);
        const QRect cell(left, qRound(top - between), right - left,
                         qRound(top + line.height() + between) - qRound(top - between));
        const double share = shares[span.token - item.block.range.first];
        const bool selected = has(picture_.selection, span.token);
        QColor ink = palette.color(QPalette::Text);
        if (selected) {
            painter_.fillRect(cell, palette.color(QPalette::Highlight));
            ink = palette.color(QPalette::HighlightedText);
        } else if (span.token >= read) {
            ink = unread;
        } else if (shading.shaded && share > 0) {
            const Shade& shade = shading.table.of(share);
            painter_.fillRect(cell, shade.background);
            ink = shade.ink;
        }
        region_of(ink) += cell;
        if (!shading.underlined || span.token >= read || share <= 0) continue;
        const qreal thick = std::max(1.0, share * line_height * 0.16);
        painter_.fillRect(QRectF(left, cell.bottom() + 1 - thick, right - left - 1, thick), selected ? ink : under);
    }
    return inks;
}

// Draws a frame around the part of `range` on each line.
void DocumentPainter::paint_frames(const DocumentItem& item, StreamRange range, const QColor& color, qreal width)
{
    if (!overlap(range, item.block.range)) return;
    painter_.setPen(QPen(color, width));
    painter_.setBrush(Qt::NoBrush);
    for (int i = 0; i < item.layout.lineCount(); ++i) {
        QRectF frame;
        for (const DocumentItem::Span& span : item.spans)
            if (span.line == i && has(range, span.token))
                frame |= QRectF(column_.left() + span.left, item.y + item.caption + item.layout.lineAt(i).y(),
                                span.right - span.left, item.layout.lineAt(i).height());
        if (!frame.isEmpty()) painter_.drawRect(frame.adjusted(-1, 0, 1, 0));
    }
}

QRectF DocumentPainter::rows_of(const DocumentItem& item, StreamRange range) const
{
    const uint64_t first = std::max(range.first, item.block.range.first);
    const uint64_t last = std::min(range.last, item.block.range.last) - 1;
    return {0, item.y + item.line_top(first), 0, item.line_top(last) - item.line_top(first) + column_.em()};
}

// Marks pins left of the text.
void DocumentPainter::paint_pins(const DocumentItem& item)
{
    const qreal em = column_.em(), left = column_.left() - 0.6 * em;
    for (const StreamRange& pin : picture_.marks.pins) {
        if (!overlap(pin, item.block.range)) continue;
        const QRectF rows = rows_of(item, pin);
        painter_.fillRect(QRectF(left, rows.top(), std::max(2.0, em * 0.14), rows.height()), mark_);
        if (!has(item.block.range, pin.first)) continue;
        painter_.setPen(Qt::NoPen);
        painter_.setBrush(mark_);
        painter_.drawEllipse(QPointF(left + em * 0.07, rows.top() + em * 0.3), em * 0.24, em * 0.24);
    }
}

// Frames highlights, and marks them right of the text.
void DocumentPainter::paint_highlights(const DocumentItem& item)
{
    const qreal em = column_.em(), x = column_.left() + column_.width() + 0.4 * em;
    for (const Highlight& highlight : picture_.marks.highlights) {
        if (!overlap(highlight.range, item.block.range)) continue;
        const QRectF rows = rows_of(item, highlight.range);
        const qreal width = std::max(1.5, em * (0.08 + 0.2 * std::clamp(highlight.weight, 0.0, 1.0)));
        painter_.setPen(QPen(mark_, width, Qt::DotLine));
        painter_.drawLine(QPointF(x, rows.top()), QPointF(x, rows.bottom()));
        paint_frames(item, highlight.range, mark_, 1);
    }
}

// Frames matches and the range just shown.
void DocumentPainter::paint_matches(const DocumentItem& item)
{
    const DocumentMarks& marks = picture_.marks;
    const auto first = std::ranges::upper_bound(marks.matches, item.block.range.first, {}, &StreamRange::last);
    for (auto match = first; match != marks.matches.end() && match->first < item.block.range.last; ++match)
        paint_frames(item, *match, mark_, 1);
    if (marks.current_match) paint_frames(item, *marks.current_match, picture_.palette.color(QPalette::Text), 2);
    if (!picture_.flash.range()) return;
    QColor color = mark_;
    color.setAlphaF(picture_.flash.opacity());
    paint_frames(item, *picture_.flash.range(), color, 2);
}

// Marks the beginning of a chapter left of the text.
void DocumentPainter::paint_heading(const DocumentItem& item)
{
    const qreal em = column_.em(), left = column_.left() - 0.6 * em;
    const Heading* heading = picture_.outline->heading_of(item.block.range.last - 1);
    if (!heading || heading->token < item.block.range.first) return;
    painter_.setPen(secondary_text(picture_.palette));
    painter_.drawText(QRectF(left - 1.4 * em, item.y + item.line_top(heading->token), 1.2 * em, em),
                      Qt::AlignRight | Qt::AlignTop, QStringLiteral("§"));
}

// A line above the text with which a page begins, and its label at the right edge.
void DocumentPainter::paint_pages(const DocumentItem& item)
{
    const auto& pages = picture_.outline->pages;
    QFont small = column_.font();
    small.setPointSizeF(small.pointSizeF() * 0.75);
    const qreal right = column_.left() + column_.width(), em = column_.em();
    painter_.save();
    painter_.setFont(small);
    for (auto page = std::ranges::lower_bound(pages, item.block.range.first, {}, &PageStart::token);
         page != pages.end() && page->token < item.block.range.last; ++page) {
        if (page->label.isEmpty()) continue;
        const qreal y = item.y + item.line_top(page->token);
        painter_.setPen(QPen(picture_.palette.color(QPalette::Mid), 1));
        painter_.drawLine(QPointF(column_.left(), y), QPointF(right, y));
        painter_.setPen(secondary_text(picture_.palette));
        const QRectF corner(right - 2 * em, y, column_.viewport().width() - right + 2 * em - 2, em);
        painter_.drawText(corner, Qt::AlignRight | Qt::AlignTop,
                          QFontMetricsF(small).elidedText(page->label, Qt::ElideRight, corner.width()));
    }
    painter_.restore();
}

QString DocumentPainter::caption_of(const DocumentItem& item) const
{
    switch (item.block.kind) {
    case PartKind::Framing:
        return tr("%n token(s) of framing", nullptr,
                  static_cast<int>(item.block.range.last - item.block.range.first));
    case PartKind::Document:
        return picture_.outline->part_of(item.block.range.first).title;
    case PartKind::Question:
        return tr("You");
    case PartKind::Answer:
        return tr("Palimpsest");
    }
    return {};
}

void DocumentPainter::paint_caption(const DocumentItem& item)
{
    if (item.caption <= 0) return;
    const bool framing = item.block.kind == PartKind::Framing;
    const qreal line_height = column_.line_height();
    const QRectF row(column_.left(), item.y + item.caption - line_height, column_.width(), line_height);
    QFont small = column_.font();
    if (framing)
        small.setPointSizeF(small.pointSizeF() * 0.85);
    else
        small.setBold(true);
    painter_.setFont(small);
    painter_.setPen(secondary_text(picture_.palette));
    const QFontMetricsF metrics(small, &device_);
    const QString words = metrics.elidedText(caption_of(item), Qt::ElideRight, row.width());
    painter_.drawText(row, Qt::AlignVCenter | Qt::AlignLeft, words);
    painter_.setFont(column_.font());
    const qreal x = row.left() + metrics.horizontalAdvance(words) + column_.em() / 2.0;
    painter_.setPen(separator(picture_.palette));
    if (framing && x < row.right())
        painter_.drawLine(QPointF(x, row.center().y()), QPointF(row.right(), row.center().y()));
}

// Draws bars in place of text whose pages are not loaded yet.
void DocumentPainter::paint_placeholders()
{
    const QColor gray = separator(picture_.palette);
    const qreal height = column_.line_height();
    const auto fill = [&](qreal from, qreal to) {
        int row = 0;
        for (qreal y = from; y + height <= to + 1; y += height, ++row) {
            const qreal share = row % 7 == 6 ? 0.45 : 1 - 0.06 * (row % 4);
            painter_.fillRect(QRectF(column_.left(), y + height * 0.35, column_.width() * share, height * 0.3),
                              gray);
        }
    };
    if (const auto above = picture_.layout.missing_above()) fill(std::fmod(*above, height), *above);
    if (const auto below = picture_.layout.missing_below()) fill(std::max(*below, height / 2), viewport_.height());
}

void DocumentPainter::paint_caret()
{
    if (!picture_.caret || picture_.layout.visible().empty()) return;
    const uint64_t tokens = picture_.outline->tokens;
    const bool at_end = *picture_.caret >= tokens;
    const uint64_t token = at_end ? tokens - 1 : *picture_.caret;
    const DocumentItem* item = picture_.layout.item_of(token);
    if (!item) return;
    const qreal width = std::max(2.0, column_.em() / 12.0);
    const QColor color = picture_.palette.color(QPalette::Text);
    if (item->layout.lineCount() == 0) {
        painter_.fillRect(QRectF(column_.left() - 2, item->y, width, item->height), color);
        return;
    }
    const int position = at_end ? item->block.end_of(token) : item->block.start_of(token);
    const QTextLine line = item->layout.lineForTextPosition(position);
    if (!line.isValid()) return;
    const qreal x = column_.left() + line.cursorToX(position);
    painter_.fillRect(QRectF(x - 1, item->y + item->caption + line.y(), width, line.height()), color);
}

} // namespace palimpsest::ui
