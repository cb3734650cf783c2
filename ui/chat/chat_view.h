// Questions and answers, one below the other.
//
// The view supports ten thousand turns: a turn is parsed and laid out when it comes into view, in slices of a few
// milliseconds, and its layout is dropped when it is far away. The view follows the end of a growing answer only
// while it is scrolled there. It loads nothing and opens no address: link_activated tells the window, which asks
// the user first.
#pragma once

#include <QAbstractScrollArea>
#include <QTimer>
#include <QToolButton>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ui/chat/message_layout.h"
#include "ui/chat/turn_action.h"
#include "ui/engine/session_facts.h"

class QMenu;

namespace palimpsest::ui {

struct ChatEntry;
struct HotArea;

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
    bool is_answering() const { return growing_; }

    // Names a range of the stream ("page 12, The Lighthouse"); without it, token numbers are shown.
    void set_place_name(std::function<QString(StreamRange)> name);
    void set_reduced_motion(bool reduced); // the cursor of a growing answer does not blink

    // ---- turns by number
    int turn_count() const;
    int current_turn() const { return current_; } // -1: none
    void set_current_turn(int turn);              // also scrolls there
    QString turn_name(int turn) const;            // the speaker and the state
    QString turn_text(int turn) const;            // the displayed answer as plain text
    QString turn_notes(int turn) const;           // coverage and state
    QRect turn_rect(int turn) const;              // in the viewport
    std::vector<TurnAction> actions(int turn) const;
    QString action_label(int turn, TurnAction action) const;
    void perform(int turn, TurnAction action);
    void open_source(int turn, int source); // the n-th citation, from 0
    std::unique_ptr<QMenu> menu_of(int turn);

    bool is_at_end() const { return at_end_; }
    void jump_to_end();
    QString selected_text() const;
    QString selected_markdown() const; // whole source lines
    void select_turn(int turn);
    uint64_t layouts_made() const;                          // blocks laid out so far
    bool is_laid_out() const { return !later_.isActive(); } // whether everything in view is laid out

Q_SIGNALS:
    void link_activated(const QString& address);
    void place_wanted(palimpsest::ui::StreamRange range);
    void sources_wanted(const palimpsest::ui::Turn& answer);
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
    struct Cursor {
        int entry = -1;
        TextPosition place;
        auto operator<=>(const Cursor&) const = default;
    };
    struct Found {
        Cursor cursor;
        MessageLayout::Spot spot;
    };

    // ---- accessibility (chat_accessible.cpp)
    static void install_accessibility(); // for the whole program; further calls do nothing

    // ---- contents and layout (chat_view.cpp)
    void announce(int entry);
    void restyle();
    void lay_out();
    int seen_entry_at(int top, int bottom) const;
    bool lay_out_entries(int top, int bottom, const QDeadlineTimer& until, int* moved, int anchor,
                         int* anchor_inner);
    void measure(ChatEntry& entry);
    MessageLayout& layout_of(ChatEntry& entry);
    void forget_far_layouts(int top, int bottom);
    void update_tops(size_t from);
    void update_range();
    int entry_at(int y) const;
    int column_width() const;
    int column_left() const;
    int header_height() const;
    void place_jump_button();

    // ---- turns (chat_turns.cpp)
    QString footer_text(const ChatEntry& entry) const;
    QString state_text(const ChatEntry& entry) const;
    QString place_name(const StreamRange& range) const;
    QString source_note(const Provenance::Source& source) const;
    void show_version(int entry, size_t version);
    void copy(const QString& text);
    void scroll_to(int entry);
    void move_current(int by);

    // ---- selection (chat_selection.cpp)
    std::pair<Cursor, Cursor> selection() const;
    QString join_selection(bool markdown) const;
    Found find(const QPoint& at);

    // ---- painting (chat_painting.cpp)
    bool shows_actions(int entry) const;
    std::vector<HotArea> hot_areas(int entry) const;
    std::vector<HotArea> source_areas(int entry, int top) const;
    const HotArea* hot_area_at(const std::vector<HotArea>& areas, const QPoint& at) const;
    void paint_entry(QPainter& painter, int entry);
    void paint_header(QPainter& painter, int entry, int top);
    void paint_footer(QPainter& painter, int entry, int top);
    void paint_growing(QPainter& painter, const ChatEntry& entry, int top);

    // ---- keyboard and mouse (chat_input.cpp)
    void press_area(int entry, const HotArea& area);
    void set_hovered(int entry);

    std::vector<std::unique_ptr<ChatEntry>> entries_;
    std::vector<int> tops_{0}; // of the entries, then the end
    MessageStyle style_;
    QFont small_font_;
    std::function<QString(StreamRange)> place_name_;
    QToolButton* jump_ = nullptr;
    QTimer later_, blink_;
    Cursor anchor_, caret_;
    QPoint pressed_at_;
    int current_ = -1, hovered_ = -1;
    bool at_end_ = true, growing_ = false, lit_ = true, reduced_motion_ = false;
    bool laying_out_ = false, selecting_ = false;
    uint64_t layouts_forgotten_ = 0; // made by layouts that were dropped
};

} // namespace palimpsest::ui
