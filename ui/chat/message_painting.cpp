// Painting of a message, and the positions of its buttons.
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

#include "ui/chat/laid_block.h"
#include "ui/chat/message_layout.h"

namespace palimpsest::ui {
namespace {

QString copy_label()
{
    return QCoreApplication::translate("palimpsest::ui::MessageLayout", "Copy");
}

QString show_all_label(int lines)
{
    return QCoreApplication::translate("palimpsest::ui::MessageLayout", "Show all %n line(s)", nullptr, lines);
}

} // namespace

QRectF MessageLayout::copy_rect(const LaidBlock& laid) const
{
    if (laid.block.kind != Block::Kind::Code || !laid.block.first) return {};
    const double width = QFontMetricsF(style_->font).horizontalAdvance(copy_label()) + 2 * style_->padding;
    return {laid.frame.right() - width, 0, width, static_cast<double>(row_height())};
}

void MessageLayout::paint_around(QPainter& painter, const LaidBlock& laid, double y) const
{
    const std::vector<Around>& around = laid.block.around;
    const auto placed = [&](double x, double width, double height) {
        return QRectF(laid.reads_leftwards ? width_ - x - width : x, y, width, height);
    };
    const int direction = laid.reads_leftwards ? Qt::TextForceRightToLeft : 0; // which mirrors AlignRight, too
    for (size_t i = 0; i < around.size() && i < deepest_indent; ++i) {
        const double x = static_cast<double>(i) * style_->indent;
        if (around[i].quote) {
            const double bar = std::max(2.0, style_->padding / 4.0);
            painter.fillRect(placed(x + style_->indent * 0.35, bar, laid.height), style_->line);
        } else if (!around[i].marker.isEmpty()) {
            painter.setFont(style_->font);
            painter.setPen(style_->quiet);
            painter.drawText(
                placed(x - style_->indent, 2 * style_->indent - style_->padding * 0.7, style_->line_height),
                Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip | direction, around[i].marker);
        }
    }
}

void MessageLayout::paint_frame(QPainter& painter, const LaidBlock& laid, double y) const
{
    if (laid.block.kind == Block::Kind::Rule) {
        const int middle = laid.height / 2;
        const double indent = indent_of(laid.block);
        painter.fillRect(QRectF(laid.reads_leftwards ? 0 : indent, y + middle, width_ - indent, 1), style_->line);
        return;
    }
    if (laid.block.kind == Block::Kind::Code) {
        painter.fillRect(laid.frame.translated(0, y), style_->code_background);
        if (!laid.block.first) return;
        painter.setFont(style_->font);
        painter.setPen(style_->quiet);
        const QRectF head(laid.frame.left() + style_->padding, y, laid.frame.width() - 2 * style_->padding,
                          row_height());
        painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, laid.block.language);
        painter.drawText(head, Qt::AlignRight | Qt::AlignVCenter, copy_label());
        return;
    }
    for (size_t i = 0; i < laid.rows.size() && laid.columns.size() > 1; ++i)
        painter.fillRect(QRectF(laid.columns.front(), y + laid.rows[i], laid.columns.back() - laid.columns.front(),
                                laid.block.heads && i == 1 ? 2 : 1),
                         style_->line);
}

void MessageLayout::paint_block(QPainter& painter, size_t p, size_t b, double y,
                                const TextSelection* selection) const
{
    const LaidBlock& laid = parts_[p].blocks[b];
    paint_around(painter, laid, y);
    paint_frame(painter, laid, y);
    const TextPosition from{p, b, 0}, to{p, b, length_of(laid.block)};
    int begin = 0, end = 0;
    if (selection && selection->from < to && selection->to > from) {
        begin = std::max(selection->from, from) == from ? 0 : selection->from.offset;
        end = std::min(selection->to, to) == to ? to.offset : selection->to.offset;
    }
    painter.setPen(laid.block.kind == Block::Kind::Note ? style_->quiet : style_->text);
    for (const LaidBox& box : laid.boxes) {
        QVector<QTextLayout::FormatRange> marked;
        const int first = std::max(begin, box.start) - box.start;
        const int last = std::min(end, box.start + static_cast<int>(box.text->text.size())) - box.start;
        if (first < last) {
            QTextCharFormat format;
            format.setBackground(style_->selection);
            format.setForeground(style_->selected_text);
            marked.push_back({first, last - first, format});
        }
        box.layout->draw(&painter, box.at + QPointF(0, y), marked);
    }
}

void MessageLayout::paint(QPainter& painter, int top, int bottom, const TextSelection* selection) const
{
    for (size_t p = parts_.empty() ? 0 : part_at(top); p < parts_.size() && tops_[p] < bottom; ++p) {
        const LaidPart& part = parts_[p];
        for (size_t b = 0; b < part.blocks.size(); ++b) {
            const LaidBlock& laid = part.blocks[b];
            const double y = tops_[p] + laid.y;
            if (!laid.laid || is_hidden(p, b) || y + laid.height + row_height() < top || y > bottom) continue;
            painter.save();
            // Stacked combining marks must not paint outside their block.
            painter.setClipRect(QRectF(-style_->indent, y, width_ + 2 * style_->indent, laid.height),
                                Qt::IntersectClip);
            paint_block(painter, p, b, y, selection);
            painter.restore();
            const int more = more_lines(p, b);
            if (more == 0) continue;
            painter.setFont(style_->font);
            painter.setPen(style_->link);
            painter.drawText(QRectF(indent_of(laid.block), y + laid.height, width_, row_height()),
                             Qt::AlignLeft | Qt::AlignVCenter, show_all_label(more));
        }
    }
}

std::optional<QRectF> MessageLayout::end_rect() const
{
    for (size_t p = parts_.size(); p-- > 0;) {
        if (!parts_[p].parsed || parts_[p].blocks.empty()) return std::nullopt;
        const LaidBlock& laid = parts_[p].blocks.back();
        if (is_hidden(p, parts_[p].blocks.size() - 1)) return std::nullopt;
        if (!laid.laid || laid.boxes.empty()) return std::nullopt;
        const LaidBox& box = laid.boxes.back();
        const QTextLine line = box.layout->lineAt(box.layout->lineCount() - 1);
        if (!line.isValid()) return std::nullopt;
        const double x = line.cursorToX(line.textStart() + line.textLength());
        return QRectF(box.at.x() + x, tops_[p] + laid.y + box.at.y() + line.y(), 1, line.height());
    }
    return std::nullopt;
}

} // namespace palimpsest::ui
