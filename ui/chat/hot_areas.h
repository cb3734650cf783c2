// The clickable areas of turns, in viewport coordinates: actions in the header, numbered sources in the footer.
#pragma once

#include <QCoreApplication>
#include <optional>
#include <vector>

#include "ui/chat/chat_layout.h"

namespace palimpsest::ui {

struct HotArea {
    QRect rect;
    QString label;
    std::optional<TurnAction> action;
    int source = -1; // index of a citation; -1: none
    bool is_clickable() const { return action || source >= 0; }
};

// The turn that the keyboard has chosen, and the turn under the mouse.
struct TurnFocus {
    int current = -1, hovered = -1; // -1: none
    bool has_focus = false;         // whether the view has the keyboard focus
};

class HotAreas {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::HotAreas)
public:
    // `scroll`: which y of the layout is at the top of the viewport. `layout` must outlive this object.
    HotAreas(const ChatLayout& layout, const TurnFocus& focus, int scroll, Qt::LayoutDirection direction)
        : layout_(layout), focus_(focus), scroll_(scroll), direction_(direction)
    {
    }

    const TurnFocus& focus() const { return focus_; }
    int scroll() const { return scroll_; }
    Qt::LayoutDirection direction() const { return direction_; }
    QRect mirrored(const QRect& area) const; // `area`, mirrored if the layout direction is right to left

    std::vector<HotArea> of(int turn) const;
    std::optional<HotArea> at(QPoint point, int turn) const; // the clickable area at `point`
    static QString sources_label() { return tr("Rests on"); }

private:
    bool shows_actions(int turn) const;
    std::vector<HotArea> header_areas(int turn) const;
    std::vector<HotArea> source_areas(int turn) const;

    const ChatLayout& layout_;
    TurnFocus focus_;
    int scroll_;
    Qt::LayoutDirection direction_;
};

} // namespace palimpsest::ui
