// Painting of the chat view, and its clickable areas.
#include <QLocale>
#include <QPainter>
#include <QScrollBar>
#include <QStyle>
#include <algorithm>

#include "ui/base/theme.h"
#include "ui/chat/chat_entry.h"
#include "ui/chat/chat_view.h"

namespace palimpsest::ui {

bool ChatView::shows_actions(int entry) const
{
    return entry == hovered_ || (entry == current_ && hasFocus()) || entry + 1 == turn_count();
}

std::vector<HotArea> ChatView::hot_areas(int index) const
{
    const auto i = static_cast<size_t>(index);
    const ChatEntry& entry = *entries_[i];
    const QFontMetrics metrics(small_font_);
    const int top = tops_[i] - verticalScrollBar()->value();
    std::vector<HotArea> areas;
    if (shows_actions(index)) {
        int right = column_left() + column_width();
        const auto add = [&](const QString& label, std::optional<TurnAction> action) {
            const int width = metrics.horizontalAdvance(label) + style_.padding;
            right -= width;
            areas.push_back({QRect(right, top, width, header_height()), label, action, -1});
        };
        const std::vector<TurnAction> possible = actions(index);
        for (auto it = possible.rbegin(); it != possible.rend(); ++it)
            if (*it != TurnAction::Earlier && *it != TurnAction::Later && *it != TurnAction::CopyMarkdown)
                add(action_label(index, *it), *it);
        if (!entry.turn.earlier.empty()) {
            const auto has = [&](TurnAction a) {
                return std::find(possible.begin(), possible.end(), a) != possible.end();
            };
            add(QStringLiteral("›"), has(TurnAction::Later) ? std::optional(TurnAction::Later) : std::nullopt);
            add(tr("%1/%2").arg(entry.version + 1).arg(entry.turn.earlier.size() + 1), std::nullopt);
            add(QStringLiteral("‹"), has(TurnAction::Earlier) ? std::optional(TurnAction::Earlier) : std::nullopt);
        }
    }
    const int footer =
        top + header_height() + std::max(entry.body, style_.line_height) + entry.footer - style_.line_height;
    for (HotArea& area : source_areas(index, footer))
        areas.push_back(std::move(area));
    for (HotArea& area : areas)
        area.rect = QStyle::visualRect(layoutDirection(), viewport()->rect(), area.rect);
    return areas;
}

std::vector<HotArea> ChatView::source_areas(int index, int top) const
{
    const ChatEntry& entry = *entries_[static_cast<size_t>(index)];
    std::vector<HotArea> areas;
    if (!entry.turn.provenance || entry.growing || entry.version < entry.turn.earlier.size()) return areas;
    const QFontMetrics metrics(small_font_);
    int x = column_left() + metrics.horizontalAdvance(tr("Rests on")) + style_.padding;
    const size_t shown = std::min(sources_shown, entry.turn.provenance->sources.size());
    for (size_t s = 0; s < shown; ++s) {
        const QString label = QLocale().toString(static_cast<int>(s) + 1);
        const int width = std::max(metrics.horizontalAdvance(label) + style_.padding, style_.line_height);
        areas.push_back({QRect(x, top, width, style_.line_height), label, std::nullopt, static_cast<int>(s)});
        x += width + style_.padding / 2;
    }
    return areas;
}

const HotArea* ChatView::hot_area_at(const std::vector<HotArea>& areas, const QPoint& at) const
{
    for (const HotArea& area : areas)
        if (area.rect.contains(at) && (area.action || area.source >= 0)) return &area;
    return nullptr;
}

void ChatView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const int top = verticalScrollBar()->value();
    for (int i = entries_.empty() ? 0 : entry_at(top);
         i < turn_count() && tops_[static_cast<size_t>(i)] < top + viewport()->height(); ++i)
        paint_entry(painter, i);
}

void ChatView::paint_entry(QPainter& painter, int index)
{
    const auto i = static_cast<size_t>(index);
    const ChatEntry& entry = *entries_[i];
    const int top = tops_[i] - verticalScrollBar()->value();
    if (!is_answer(entry.turn)) {
        const int margin = style_.padding;
        const QRect panel(column_left() - margin, top, column_width() + 2 * margin,
                          tops_[i + 1] - tops_[i] - style_.padding);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(style_.code_background);
        painter.drawRoundedRect(panel, style_.padding / 2.0, style_.padding / 2.0);
    }
    if (index == current_ && hasFocus()) {
        const int bar = std::max(2, style_.padding / 4);
        painter.fillRect(QRect(std::max(0, column_left() - style_.padding - 2 * bar), top, bar,
                               tops_[i + 1] - tops_[i] - style_.padding),
                         accent(palette()));
    }
    paint_header(painter, index, top);
    const int body = top + header_height();
    if (entry.layout) {
        painter.save();
        painter.translate(column_left(), body);
        const auto [from, to] = selection();
        std::optional<TextSelection> marked;
        if (from.entry >= 0 && from != to && from.entry <= index && index <= to.entry)
            marked = {index == from.entry ? from.place : TextPosition{},
                      index == to.entry ? to.place : entry.layout->end()};
        entry.layout->paint(painter, -body, viewport()->height() - body, marked ? &*marked : nullptr);
        painter.restore();
    }
    if (entry.growing && entry.version == entry.turn.earlier.size()) paint_growing(painter, entry, body);
    paint_footer(painter, index, body + std::max(entry.body, style_.line_height));
}

void ChatView::paint_header(QPainter& painter, int index, int top)
{
    const ChatEntry& entry = *entries_[static_cast<size_t>(index)];
    QFont bold = small_font_;
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(is_answer(entry.turn) ? style_.accent : style_.quiet);
    const QRect head = QStyle::visualRect(layoutDirection(), viewport()->rect(),
                                          QRect(column_left(), top, column_width(), header_height()));
    const QString speaker = !is_answer(entry.turn) ? tr("You")
                            : entry.growing        ? tr("Palimpsest is answering…")
                                                   : tr("Palimpsest");
    painter.drawText(head,
                     static_cast<int>(QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft | Qt::AlignVCenter)),
                     speaker);
    painter.setFont(small_font_);
    for (const HotArea& area : hot_areas(index)) {
        if (area.source >= 0) continue;
        painter.setPen(style_.quiet);
        QFont underlined = small_font_;
        const bool under =
            area.action && area.rect.contains(viewport()->mapFromGlobal(QCursor::pos())) && underMouse();
        underlined.setUnderline(under);
        painter.setFont(underlined);
        painter.setOpacity(area.action || area.label.size() > 1 ? 1 : 0.4);
        painter.drawText(area.rect, Qt::AlignCenter, area.label);
        painter.setOpacity(1);
    }
}

void ChatView::paint_footer(QPainter& painter, int index, int top)
{
    const ChatEntry& entry = *entries_[static_cast<size_t>(index)];
    if (entry.footer == 0) return;
    painter.setFont(small_font_);
    painter.setPen(style_.quiet);
    const QRect area = QStyle::visualRect(layoutDirection(), viewport()->rect(),
                                          QRect(column_left(), top + style_.padding, column_width(), entry.footer));
    painter.drawText(area,
                     static_cast<int>(QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft | Qt::AlignTop)) |
                         Qt::TextWordWrap,
                     footer_text(entry));
    bool said = false;
    for (const HotArea& hot : hot_areas(index)) {
        if (hot.source < 0) continue;
        if (!said) {
            const QRect row = QStyle::visualRect(
                layoutDirection(), viewport()->rect(),
                QRect(column_left(), top + entry.footer - style_.line_height, column_width(), style_.line_height));
            painter.drawText(
                row, static_cast<int>(QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft | Qt::AlignVCenter)),
                tr("Rests on"));
        }
        said = true;
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(style_.line);
        painter.setBrush(style_.code_background);
        const QRectF chip =
            QRectF(hot.rect).adjusted(0.5, style_.padding / 6 + 0.5, -0.5, -style_.padding / 6 - 0.5);
        painter.drawRoundedRect(chip, style_.padding / 3.0, style_.padding / 3.0);
        painter.setPen(style_.accent);
        painter.drawText(hot.rect, Qt::AlignCenter, hot.label);
        painter.setPen(style_.quiet);
    }
}

void ChatView::paint_growing(QPainter& painter, const ChatEntry& entry, int top)
{
    if (!lit_ && !reduced_motion_) return;
    QRectF at(0, 0, 1, style_.line_height);
    if (entry.layout && !entry.turn.text.isEmpty()) {
        const std::optional<QRectF> end = entry.layout->end_rect();
        if (!end) return;
        at = *end;
    }
    painter.fillRect(QRectF(column_left() + at.x() + 1, top + at.y() + at.height() * 0.12, style_.character * 0.6,
                            at.height() * 0.76),
                     style_.accent);
}

} // namespace palimpsest::ui
