// Selection and hit testing in the chat view.
#include <QScrollBar>
#include <algorithm>

#include "ui/chat/chat_entry.h"
#include "ui/chat/chat_view.h"

namespace palimpsest::ui {

std::pair<ChatView::Cursor, ChatView::Cursor> ChatView::selection() const
{
    return anchor_ < caret_ ? std::pair(anchor_, caret_) : std::pair(caret_, anchor_);
}

QString ChatView::join_selection(bool markdown) const
{
    const auto [from, to] = selection();
    if (from.entry < 0 || from == to) return {};
    QStringList parts;
    for (int i = from.entry; i <= to.entry; ++i) {
        const ChatEntry& entry = *entries_[static_cast<size_t>(i)];
        MessageLayout plain;
        plain.set_text(entry.text(), entry.format());
        const TextPosition begin = i == from.entry ? from.place : plain.begin();
        const TextPosition end = i == to.entry ? to.place : plain.end();
        parts += markdown ? plain.source_between(begin, end) : plain.text_between(begin, end);
    }
    return parts.join(QStringLiteral("\n\n"));
}

QString ChatView::selected_text() const
{
    return join_selection(false);
}

QString ChatView::selected_markdown() const
{
    return join_selection(true);
}

void ChatView::select_turn(int turn)
{
    if (turn < 0 || turn >= turn_count()) return;
    MessageLayout plain;
    const ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
    plain.set_text(entry.text(), entry.format());
    anchor_ = {turn, plain.begin()};
    caret_ = {turn, plain.end()};
    viewport()->update();
}

ChatView::Found ChatView::find(const QPoint& at)
{
    Found found;
    if (entries_.empty()) return found;
    const int y = at.y() + verticalScrollBar()->value();
    found.cursor.entry = entry_at(std::clamp(y, 0, std::max(0, tops_.back() - 1)));
    const auto i = static_cast<size_t>(found.cursor.entry);
    const int body = tops_[i] + header_height();
    ChatEntry& entry = *entries_[i];
    MessageLayout& layout = layout_of(entry);
    if (y < body) return found;
    if (y >= body + layout.height()) {
        found.cursor.place = layout.end();
        return found;
    }
    found.spot = layout.spot_at(QPointF(at.x() - column_left(), y - body));
    found.cursor.place = found.spot.place;
    return found;
}

} // namespace palimpsest::ui
