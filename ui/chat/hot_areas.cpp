#include "ui/chat/hot_areas.h"

#include <QFontMetrics>
#include <QLocale>
#include <QStyle>
#include <algorithm>

namespace palimpsest::ui {

QRect HotAreas::mirrored(const QRect& area) const
{
    return QStyle::visualRect(direction_, QRect(QPoint(), layout_.viewport()), area);
}

bool HotAreas::shows_actions(int turn) const
{
    return turn == focus_.hovered || (turn == focus_.current && focus_.has_focus) ||
           turn + 1 == layout_.turns().count();
}

std::vector<HotArea> HotAreas::of(int turn) const
{
    std::vector<HotArea> areas;
    if (shows_actions(turn)) areas = header_areas(turn);
    for (HotArea& area : source_areas(turn))
        areas.push_back(std::move(area));
    for (HotArea& area : areas)
        area.rect = mirrored(area.rect);
    return areas;
}

std::optional<HotArea> HotAreas::at(QPoint point, int turn) const
{
    for (const HotArea& area : of(turn))
        if (area.rect.contains(point) && area.is_clickable()) return area;
    return std::nullopt;
}

std::vector<HotArea> HotAreas::header_areas(int turn) const
{
    const ChatEntry& entry = layout_.turns()[turn];
    const QFontMetrics metrics(layout_.small_font());
    std::vector<HotArea> areas;
    const int top = layout_.top(turn) - scroll_;
    int right = layout_.column_left() + layout_.column_width();
    const auto add = [&](const QString& label, std::optional<TurnAction> action) {
        const int width = metrics.horizontalAdvance(label) + layout_.style().padding;
        right -= width;
        areas.push_back({QRect(right, top, width, layout_.header_height()), label, action, -1});
    };
    const std::vector<TurnAction> possible = layout_.turns().actions(turn);
    for (auto it = possible.rbegin(); it != possible.rend(); ++it)
        if (*it != TurnAction::Earlier && *it != TurnAction::Later && *it != TurnAction::CopyMarkdown)
            add(layout_.turns().action_label(turn, *it), *it);
    if (entry.turn.earlier.empty()) return areas;
    const auto if_possible = [&](TurnAction action) {
        return std::ranges::find(possible, action) != possible.end() ? std::optional(action) : std::nullopt;
    };
    add(QStringLiteral("›"), if_possible(TurnAction::Later));
    add(tr("%1/%2").arg(entry.version + 1).arg(entry.turn.earlier.size() + 1), std::nullopt);
    add(QStringLiteral("‹"), if_possible(TurnAction::Earlier));
    return areas;
}

std::vector<HotArea> HotAreas::source_areas(int turn) const
{
    const ChatEntry& entry = layout_.turns()[turn];
    std::vector<HotArea> areas;
    if (!entry.turn.provenance || entry.growing || !entry.is_newest()) return areas;
    const MessageStyle& style = layout_.style();
    const QFontMetrics metrics(layout_.small_font());
    const int top = layout_.top(turn) - scroll_ + layout_.header_height() + layout_.body_height(entry) +
                    entry.footer - style.line_height;
    int x = layout_.column_left() + metrics.horizontalAdvance(sources_label()) + style.padding;
    const size_t shown = std::min(sources_shown, entry.turn.provenance->sources.size());
    for (size_t s = 0; s < shown; ++s) {
        const QString label = QLocale().toString(static_cast<int>(s) + 1);
        const int width = std::max(metrics.horizontalAdvance(label) + style.padding, style.line_height);
        areas.push_back({QRect(x, top, width, style.line_height), label, std::nullopt, static_cast<int>(s)});
        x += width + style.padding / 2;
    }
    return areas;
}

} // namespace palimpsest::ui
