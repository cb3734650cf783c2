// Arranges the turns below one another in one column, and finds the text at a point.
//
// A turn is parsed and laid out when it comes into view; until then its height is an estimate. Coordinates are
// pixels: x from the left of the view, y from the top of the first turn. Not a widget: the view says which range is
// visible. After turns were added, removed or changed, call update_from().
#pragma once

#include <QDeadlineTimer>
#include <QFont>
#include <QRect>
#include <vector>

#include "ui/chat/turn_list.h"

namespace palimpsest::ui {

class ChatLayout {
public:
    explicit ChatLayout(TurnList& turns) : turns_(turns) {} // `turns` must outlive this object

    const TurnList& turns() const { return turns_; }
    const MessageStyle& style() const { return style_; }
    const QFont& small_font() const { return small_font_; } // of headers and footers
    QSize viewport() const { return viewport_; }

    void restyle(const QFont& font, const QPalette& palette);   // discards all layouts
    void set_viewport(QSize viewport) { viewport_ = viewport; } // for layouts made from now on
    void wrap_again();                                          // adapts all layouts to a new viewport width
    void update_from(int turn); // computes again where this turn and those below it are
    void discard(int turn);     // discards the turn's layout; call update_from() next

    // ---- the column
    int column_width() const;
    int column_left() const;
    int header_height() const;
    int body_height(const ChatEntry& entry) const; // of the text of a turn: at least one line
    int height() const { return tops_.back(); }
    int top(int turn) const { return tops_[static_cast<size_t>(turn)]; }
    int bottom(int turn) const { return tops_[static_cast<size_t>(turn) + 1]; }
    QRect rect(int turn) const { return {column_left(), top(turn), column_width(), bottom(turn) - top(turn)}; }
    int turn_at(int y) const; // the turn at or nearest to `y`; 0 if there are none

    // ---- layout
    struct Progress {
        bool done = false; // whether all turns in the range are laid out
        int moved = 0;     // pixels by which the visible text moved down
    };
    // Lays out the turns between `top` and `bottom`, at least one block, until the deadline.
    Progress lay_out(int top, int bottom, const QDeadlineTimer& until);
    // Discards layouts more than `reach` pixels outside of the range; their turns keep their heights.
    void forget_far(int top, int bottom, int reach);
    MessageLayout& layout_of(int turn); // creates it if necessary; lay_out() lays out its blocks
    void adopt_height(int turn);        // call after the height of the turn's layout has changed
    uint64_t layouts_made() const;      // blocks laid out so far

    struct Hit {
        ChatCursor cursor;
        MessageLayout::Spot spot;
    };
    Hit hit(QPoint at); // the text at or nearest to `at`; cursor.turn is -1 if there are no turns

private:
    int seen_turn(int top, int bottom) const;
    void measure(int turn);
    void drop_layout(ChatEntry& entry);

    TurnList& turns_;
    MessageStyle style_;
    QFont small_font_;
    QSize viewport_;
    std::vector<int> tops_{0};       // y of each turn, then of the end
    uint64_t layouts_forgotten_ = 0; // the sum of layouts_made() of discarded layouts
};

} // namespace palimpsest::ui
