// Questions and answers, one below the other.
//
// The view supports ten thousand turns: a turn is parsed and laid out when it comes into view, in slices of a few
// milliseconds, and its layout is dropped when it is far away. The view follows the end of a growing answer only
// while it is scrolled there. It loads nothing and opens no address: link_activated tells the window, which asks
// the user first.
#pragma once

#include <QAbstractScrollArea>
#include <QTimer>
#include <functional>
#include <memory>
#include <vector>

#include "ui/chat/chat_layout.h"
#include "ui/chat/chat_selection.h"
#include "ui/chat/cursor_blink.h"

class QMenu;

namespace palimpsest::ui {

class HotAreas;
class JumpButton;

class ChatView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit ChatView(QWidget* parent = nullptr);
    ~ChatView() override;

    // Sets all turns, oldest first. Unchanged turns keep their layout, and the scroll position stays.
    void set_turns(const std::vector<Turn>& turns);
    // Adds a question with a growing answer below it; with an empty question, the last answer is generated again.
    void begin_answer(const QString& question);
    void grow_answer(const QString& answer); // the whole answer so far
    void end_answer(const Turn& answer);     // announces it to screen readers
    void abandon_answer();                   // restores the turns before begin_answer
    const TurnList& turns() const { return turns_; }

    // `name` describes a range of the stream ("page 12, The Lighthouse"); without it, token numbers are shown.
    void set_place_name(std::function<QString(StreamRange)> name);
    void set_reduced_motion(bool reduced); // the cursor of a growing answer does not blink

    // ---- turns by number
    int current_turn() const { return current_; } // -1: none
    void set_current_turn(int turn);              // also scrolls there
    QRect turn_rect(int turn) const;              // in viewport coordinates
    void perform(int turn, TurnAction action);
    void open_source(int turn, int source); // `source`: number of the citation, from 0
    std::unique_ptr<QMenu> menu_of(int turn);

    bool is_at_end() const { return at_end_; }
    void jump_to_end();
    QString selected_text() const { return selection_.text(turns_); }
    QString selected_markdown() const { return selection_.markdown(turns_); } // whole source lines
    void select_turn(int turn);
    uint64_t layouts_made() const { return layout_.layouts_made(); } // blocks laid out so far
    bool is_laid_out() const { return !later_.isActive(); }          // whether everything in view is laid out

Q_SIGNALS:
    void link_activated(const QString& address);
    void place_wanted(palimpsest::ui::StreamRange range);
    void sources_wanted(const palimpsest::ui::Turn& answer);
    void quote_wanted(const palimpsest::ui::Turn& answer);
    void regenerate_wanted();
    void branch_wanted(qint64 message, const QString& question);
    void turns_changed();
    void announced(int turn); // to screen readers

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    // ---- accessibility (chat_accessible.cpp)
    static void install_accessibility(); // for the whole program; further calls do nothing

    // ---- contents and layout (chat_view.cpp)
    void turns_replaced();
    void announce(int turn);
    void restyle();
    void lay_out_from(int turn);
    void lay_out();
    void update_range();
    QString place_name(const StreamRange& range) const;
    void show_version(int turn, size_t version);
    void show_all_lines(int turn);
    void move_current(int by);
    HotAreas hot_areas() const;

    // ---- keyboard and mouse (chat_input.cpp)
    ChatLayout::Hit hit(QPoint at);
    QString tip_at(QPoint at);
    void copy(const QString& text);

    TurnList turns_;
    ChatLayout layout_{turns_};
    ChatSelection selection_;
    CursorBlink blink_;
    std::function<QString(StreamRange)> place_name_;
    JumpButton* jump_;
    QTimer later_;
    QPoint pressed_at_;
    int current_ = -1, hovered_ = -1;
    bool at_end_ = true, laying_out_ = false, selecting_ = false;
};

} // namespace palimpsest::ui
