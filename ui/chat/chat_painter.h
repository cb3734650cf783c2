// Draws the visible turns of a chat.
#pragma once

#include <QColor>
#include <QCoreApplication>
#include <optional>

#include "ui/chat/chat_selection.h"
#include "ui/chat/hot_areas.h"

class QPainter;

namespace palimpsest::ui {

// What the painter draws. The objects that it refers to must outlive the painter.
struct ChatPicture {
    const ChatLayout& layout;
    const ChatSelection& selection;
    const HotAreas& areas;
    std::optional<QPoint> mouse; // in viewport coordinates
    bool cursor_is_lit;          // the cursor at the end of a growing answer
    QColor focus;                // colour of the mark beside the current turn
};

class ChatPainter {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::ChatPainter)
public:
    ChatPainter(QPainter& painter, const ChatPicture& picture);

    void paint();

private:
    void paint_turn(int turn);
    void paint_background(int turn, int top);
    void paint_header(int turn, int top);
    void paint_footer(int turn, int top);
    void paint_source(const HotArea& area);
    void paint_cursor(const ChatEntry& entry, int top);
    int aligned(Qt::Alignment alignment) const; // left and right swapped if the layout direction is right to left

    QPainter& painter_;
    const ChatPicture& picture_;
    const ChatLayout& layout_;
    const MessageStyle& style_;
};

} // namespace palimpsest::ui
