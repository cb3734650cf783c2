#include "ui/chat/chat_layout.h"

#include <QFontMetrics>
#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr int column_characters = 84;

} // namespace

// ---- style and geometry

void ChatLayout::restyle(const QFont& font, const QPalette& palette)
{
    style_ = MessageStyle::of(font, palette);
    small_font_ = font;
    if (small_font_.pointSizeF() > 0) small_font_.setPointSizeF(small_font_.pointSizeF() * 0.92);
    for (int turn = 0; turn < turns_.count(); ++turn)
        drop_layout(turns_[turn]);
    update_from(0);
}

void ChatLayout::discard(int turn)
{
    drop_layout(turns_[turn]);
}

void ChatLayout::drop_layout(ChatEntry& entry)
{
    if (entry.layout) layouts_forgotten_ += entry.layout->layouts_made();
    entry.layout.reset();
    entry.measured = false;
    entry.body = 0;
}

void ChatLayout::wrap_again()
{
    for (int turn = 0; turn < turns_.count(); ++turn) {
        ChatEntry& entry = turns_[turn];
        entry.measured = false;
        if (entry.layout) entry.layout->set_geometry(style_, column_width());
        entry.body = entry.layout ? entry.layout->height() : 0;
    }
    update_from(0);
}

int ChatLayout::column_width() const
{
    const int margin = 2 * style_.indent;
    return std::max(10 * style_.character,
                    std::min(viewport_.width() - 2 * margin, column_characters * style_.character));
}

int ChatLayout::column_left() const
{
    return std::max(style_.padding, (viewport_.width() - column_width()) / 2);
}

int ChatLayout::header_height() const
{
    return style_.line_height + style_.padding / 2;
}

int ChatLayout::body_height(const ChatEntry& entry) const
{
    return std::max(entry.body, style_.line_height);
}

void ChatLayout::update_from(int turn)
{
    const int count = turns_.count();
    tops_.resize(static_cast<size_t>(count) + 1, 0);
    const int in_line = std::max(8, column_width() / style_.character);
    for (int i = std::min(turn, count); i < count; ++i) {
        ChatEntry& entry = turns_[i];
        if (entry.body == 0 && !entry.layout)
            entry.body = static_cast<int>(std::min<qsizetype>(entry.text().size() / in_line + 1, 20000)) *
                         style_.line_height;
        tops_[static_cast<size_t>(i) + 1] =
            top(i) + header_height() + body_height(entry) + entry.footer + 2 * style_.padding + style_.padding / 2;
    }
}

int ChatLayout::turn_at(int y) const
{
    const auto next = std::upper_bound(tops_.begin(), tops_.end() - 1, y);
    return next == tops_.begin() ? 0 : static_cast<int>(next - tops_.begin()) - 1;
}

// ---- layout

MessageLayout& ChatLayout::layout_of(int turn)
{
    ChatEntry& entry = turns_[turn];
    if (!entry.layout) {
        entry.layout = std::make_unique<MessageLayout>();
        entry.layout->set_text(entry.text(), entry.format());
        entry.layout->set_geometry(style_, column_width());
        entry.body = entry.layout->height();
    }
    return *entry.layout;
}

void ChatLayout::adopt_height(int turn)
{
    turns_[turn].body = turns_[turn].layout->height();
    update_from(turn);
}

void ChatLayout::measure(int turn)
{
    layout_of(turn);
    ChatEntry& entry = turns_[turn];
    if (entry.measured) return;
    entry.measured = true;
    const QString footer = turns_.notes(turn);
    entry.footer = 0;
    if (!footer.isEmpty())
        entry.footer =
            style_.padding + QFontMetrics(small_font_)
                                 .boundingRect(QRect(0, 0, column_width(), 1 << 20), Qt::TextWordWrap, footer)
                                 .height();
    if (entry.turn.provenance && !entry.turn.provenance->sources.empty() && !entry.growing)
        entry.footer += style_.padding / 2 + style_.line_height;
}

// Returns the last turn in view that is already measured, or -1. lay_out() computes how far the view must scroll to
// keep it in place. The first such turn is no good choice: often only its end is visible, below estimated heights.
int ChatLayout::seen_turn(int top_y, int bottom_y) const
{
    int seen = -1;
    for (int i = turn_at(top_y); i < turns_.count() && top(i) < bottom_y; ++i)
        if (turns_[i].measured && turns_[i].layout) seen = i;
    return seen;
}

ChatLayout::Progress ChatLayout::lay_out(int top_y, int bottom_y, const QDeadlineTimer& until)
{
    const int anchor = seen_turn(top_y, bottom_y);
    const int anchor_top = anchor < 0 ? 0 : top(anchor);
    int anchor_inner = 0; // pixels by which the visible part of the anchor moved within the anchor
    bool has_laid = false;
    Progress progress{.done = true};
    for (int i = turn_at(top_y); i < turns_.count() && top(i) < bottom_y; ++i) {
        ChatEntry& entry = turns_[i];
        // If a turn starts above the view, the view moves down by what the turn grows: the visible text stays in
        // place.
        const bool above = top(i) < top_y;
        const int before = entry.body + entry.footer;
        const uint64_t made = entry.layout ? entry.layout->layouts_made() : 0;
        int inner = 0;
        measure(i);
        const int measured = above ? entry.body + entry.footer - before : 0;
        update_from(i);
        top_y += measured;
        bottom_y += measured;
        const int body = top(i) + header_height();
        const bool done = entry.layout->lay_out(top_y - body, bottom_y - body, until, &inner);
        adopt_height(i);
        has_laid = has_laid || entry.layout->layouts_made() > made;
        progress.moved += measured + inner;
        if (i == anchor) anchor_inner = inner;
        top_y += inner;
        bottom_y += inner;
        const bool stops = has_laid && until.hasExpired() && i + 1 < turns_.count() && top(i + 1) < bottom_y;
        if (!done || stops) {
            progress.done = false;
            break;
        }
    }
    if (anchor >= 0) progress.moved = top(anchor) - anchor_top + anchor_inner;
    return progress;
}

void ChatLayout::forget_far(int top_y, int bottom_y, int reach)
{
    for (int i = 0; i < turns_.count(); ++i) {
        ChatEntry& entry = turns_[i];
        if (!entry.layout) continue;
        if (bottom(i) > top_y - reach && top(i) < bottom_y + reach) {
            const int body = top(i) + header_height();
            entry.layout->release(top_y - body, bottom_y - body, reach);
        } else if (!entry.growing) {
            layouts_forgotten_ += entry.layout->layouts_made();
            entry.layout.reset();
        }
    }
}

uint64_t ChatLayout::layouts_made() const
{
    uint64_t made = layouts_forgotten_;
    for (int i = 0; i < turns_.count(); ++i)
        if (const auto& layout = turns_[i].layout) made += layout->layouts_made();
    return made;
}

ChatLayout::Hit ChatLayout::hit(QPoint at)
{
    Hit hit;
    if (turns_.is_empty()) return hit;
    const int turn = turn_at(std::clamp(at.y(), 0, std::max(0, height() - 1)));
    hit.cursor.turn = turn;
    const int body = top(turn) + header_height();
    MessageLayout& layout = layout_of(turn);
    if (at.y() < body) return hit;
    if (at.y() >= body + layout.height()) {
        hit.cursor.place = layout.end();
        return hit;
    }
    hit.spot = layout.spot_at(QPointF(at.x() - column_left(), at.y() - body));
    hit.cursor.place = hit.spot.place;
    return hit;
}

} // namespace palimpsest::ui
