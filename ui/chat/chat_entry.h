// A turn of the chat view, and what of it can be pressed: private to the view's files.
#pragma once

#include <memory>
#include <optional>

#include "ui/chat/chat_view.h"

namespace palimpsest::ui {

inline constexpr size_t sources_shown = 9; // by number, each with a key

inline bool is_answer(const Turn& turn)
{
    return turn.role == storage::Role::Assistant;
}

struct ChatView::Entry {
    Turn turn;
    size_t version = 0; // of earlier; their number: the turn's own text
    bool growing = false, measured = false;
    std::unique_ptr<MessageLayout> layout; // null: it was not seen
    int body = 0, footer = 0;              // heights; estimated until measured

    const QString& text() const { return version < turn.earlier.size() ? turn.earlier[version] : turn.text; }
    Message::Format format() const { return is_answer(turn) ? Message::Format::Markdown : Message::Format::Plain; }
};

struct ChatView::HotArea {
    QRect rect; // of the viewport
    QString label;
    std::optional<TurnAction> action;
    int source = -1; // a citation
};

} // namespace palimpsest::ui
