#include "ui/chat/chat_painter.h"

#include <QPainter>
#include <QStyle>
#include <algorithm>

namespace palimpsest::ui {

ChatPainter::ChatPainter(QPainter& painter, const ChatPicture& picture)
    : painter_(painter), picture_(picture), layout_(picture.layout), style_(picture.layout.style())
{
}

int ChatPainter::aligned(Qt::Alignment alignment) const
{
    return static_cast<int>(QStyle::visualAlignment(picture_.areas.direction(), alignment));
}

void ChatPainter::paint()
{
    const int top = picture_.areas.scroll(), bottom = top + layout_.viewport().height();
    const int count = layout_.turns().count();
    for (int i = count == 0 ? 0 : layout_.turn_at(top); i < count && layout_.top(i) < bottom; ++i)
        paint_turn(i);
}

void ChatPainter::paint_turn(int turn)
{
    const ChatEntry& entry = layout_.turns()[turn];
    const int top = layout_.top(turn) - picture_.areas.scroll();
    paint_background(turn, top);
    paint_header(turn, top);
    const int body = top + layout_.header_height();
    if (entry.layout) {
        painter_.save();
        painter_.translate(layout_.column_left(), body);
        const std::optional<TextSelection> marked = picture_.selection.part_of(layout_.turns(), turn);
        entry.layout->paint(painter_, -body, layout_.viewport().height() - body, marked ? &*marked : nullptr);
        painter_.restore();
    }
    if (entry.growing && entry.version == entry.turn.earlier.size()) paint_cursor(entry, body);
    paint_footer(turn, body + layout_.body_height(entry));
}

// Draws a panel behind a question, and a mark beside the current turn.
void ChatPainter::paint_background(int turn, int top)
{
    const int height = layout_.bottom(turn) - layout_.top(turn) - style_.padding;
    if (!is_answer(layout_.turns()[turn].turn)) {
        const int margin = style_.padding;
        const QRect panel(layout_.column_left() - margin, top, layout_.column_width() + 2 * margin, height);
        painter_.setRenderHint(QPainter::Antialiasing);
        painter_.setPen(Qt::NoPen);
        painter_.setBrush(style_.code_background);
        painter_.drawRoundedRect(panel, style_.padding / 2.0, style_.padding / 2.0);
    }
    const TurnFocus& focus = picture_.areas.focus();
    if (turn != focus.current || !focus.has_focus) return;
    const int bar = std::max(2, style_.padding / 4);
    painter_.fillRect(QRect(std::max(0, layout_.column_left() - style_.padding - 2 * bar), top, bar, height),
                      picture_.focus);
}

void ChatPainter::paint_header(int turn, int top)
{
    const ChatEntry& entry = layout_.turns()[turn];
    QFont bold = layout_.small_font();
    bold.setBold(true);
    painter_.setFont(bold);
    painter_.setPen(is_answer(entry.turn) ? style_.accent : style_.quiet);
    const QRect head =
        picture_.areas.mirrored(QRect(layout_.column_left(), top, layout_.column_width(), layout_.header_height()));
    const QString speaker = !is_answer(entry.turn) ? tr("You")
                            : entry.growing        ? tr("Palimpsest is answering…")
                                                   : tr("Palimpsest");
    painter_.drawText(head, aligned(Qt::AlignLeft | Qt::AlignVCenter), speaker);
    painter_.setFont(layout_.small_font());
    for (const HotArea& area : picture_.areas.of(turn)) {
        if (area.source >= 0) continue;
        painter_.setPen(style_.quiet);
        QFont underlined = layout_.small_font();
        underlined.setUnderline(area.action && picture_.mouse && area.rect.contains(*picture_.mouse));
        painter_.setFont(underlined);
        painter_.setOpacity(area.action || area.label.size() > 1 ? 1 : 0.4);
        painter_.drawText(area.rect, Qt::AlignCenter, area.label);
        painter_.setOpacity(1);
    }
}

void ChatPainter::paint_footer(int turn, int top)
{
    const ChatEntry& entry = layout_.turns()[turn];
    if (entry.footer == 0) return;
    const int left = layout_.column_left(), width = layout_.column_width();
    painter_.setFont(layout_.small_font());
    painter_.setPen(style_.quiet);
    const QRect notes = picture_.areas.mirrored(QRect(left, top + style_.padding, width, entry.footer));
    painter_.drawText(notes, aligned(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, layout_.turns().notes(turn));
    bool has_label = false;
    for (const HotArea& area : picture_.areas.of(turn)) {
        if (area.source < 0) continue;
        if (!std::exchange(has_label, true)) {
            const QRect row = picture_.areas.mirrored(
                QRect(left, top + entry.footer - style_.line_height, width, style_.line_height));
            painter_.drawText(row, aligned(Qt::AlignLeft | Qt::AlignVCenter), HotAreas::sources_label());
        }
        paint_source(area);
    }
}

void ChatPainter::paint_source(const HotArea& area)
{
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(style_.line);
    painter_.setBrush(style_.code_background);
    const int inset = style_.padding / 6;
    const QRectF chip = QRectF(area.rect).adjusted(0.5, inset + 0.5, -0.5, -inset - 0.5);
    painter_.drawRoundedRect(chip, style_.padding / 3.0, style_.padding / 3.0);
    painter_.setPen(style_.accent);
    painter_.drawText(area.rect, Qt::AlignCenter, area.label);
    painter_.setPen(style_.quiet);
}

void ChatPainter::paint_cursor(const ChatEntry& entry, int top)
{
    if (!picture_.cursor_is_lit) return;
    QRectF at(0, 0, 1, style_.line_height);
    if (entry.layout && !entry.turn.text.isEmpty()) {
        const std::optional<QRectF> end = entry.layout->end_rect();
        if (!end) return;
        at = *end;
    }
    painter_.fillRect(QRectF(layout_.column_left() + at.x() + 1, top + at.y() + at.height() * 0.12,
                             style_.character * 0.6, at.height() * 0.76),
                      style_.accent);
}

} // namespace palimpsest::ui
