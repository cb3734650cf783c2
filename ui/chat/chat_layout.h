// The arrangement of turns below one another in one column, and what is at a point of it.
//
// A turn is parsed and laid out when it comes into view; heights before that are estimates. Coordinates are pixels
// from the top left of all turns. Not a widget: the view tells it what is visible. After turns were added, removed
// or changed, call update_from().
#pragma once

#include <QDeadlineTimer>
#include <QFont>
#include <QRect>
#include <vector>

#include "ui/chat/turn_list.h"

namespace palimpsest::ui {

class ChatLayout {
public:
    explicit ChatLayout(TurnList& turns) : turns_(turns) {} // must outlive the layout

    const TurnList& turns() const { return turns_; }
    const MessageStyle& style() const { return style_; }
    const QFont& small_font() const { return small_font_; } // of headers and footers
    QSize viewport() const { return viewport_; }

    void restyle(const QFont& font, const QPalette& palette);   // discards all layouts
    void set_viewport(QSize viewport) { viewport_ = viewport; } // for what is laid out from now on
    void wrap_again();                                          // lays out all layouts for a new width
    void update_from(int turn);                                 // places this turn and those below it
    void discard(int turn);                                     // its layout; then call update_from()

    // ---- the column
    int column_width() const;
    int column_left() const;
    int header_height() const;
    int body_height(const ChatEntry& entry) const; // of the text of a turn: at least one line
    int height() const { return tops_.back(); }
    int top(int turn) const { return tops_[static_cast<size_t>(turn)]; }
    int bottom(int turn) const { return tops_[static_cast<size_t>(turn) + 1]; }
    QRect rect(int turn) const { return {column_left(), top(turn), column_width(), bottom(turn) - top(turn)}; }
    int turn_at(int y) const; // the nearest; 0 if there are no turns

    // ---- layout
    struct Progress {
        bool done = false; // all turns in the range are laid out
        int moved = 0;     // how far what is visible moved down
    };
    // Lays out the turns between `top` and `bottom`, at least one block, until the deadline.
    Progress lay_out(int top, int bottom, const QDeadlineTimer& until);
    // Discards layouts farther than `reach` from the range; heights stay.
    void forget_far(int top, int bottom, int reach);
    MessageLayout& layout_of(int turn); // creates it if necessary; its blocks are laid out in view only
    void adopt_height(int turn);        // takes over the height of its layout, which changed
    uint64_t layouts_made() const;      // blocks laid out so far

    struct Hit {
        ChatCursor cursor;
        MessageLayout::Spot spot;
    };
    Hit hit(QPoint at); // the turn next to `at`; none if there are no turns

private:
    int seen_turn(int top, int bottom) const;
    void measure(int turn);
    void drop_layout(ChatEntry& entry);

    TurnList& turns_;
    MessageStyle style_;
    QFont small_font_;
    QSize viewport_;
    std::vector<int> tops_{0};       // of the turns, then the end
    uint64_t layouts_forgotten_ = 0; // made by layouts that were discarded
};

} // namespace palimpsest::ui
