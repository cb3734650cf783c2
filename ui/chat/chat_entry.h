// A turn of the chat view and its clickable areas; private to the view's source files.
#pragma once

#include <memory>
#include <optional>

#include "ui/chat/message_layout.h"
#include "ui/chat/turn_action.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

inline constexpr size_t sources_shown = 9; // each has a number and a key

inline bool is_answer(const Turn& turn)
{
    return turn.role == storage::Role::Assistant;
}

struct ChatEntry {
    Turn turn;
    size_t version = 0; // index in turn.earlier; its size: the current text
    bool growing = false, measured = false;
    std::unique_ptr<MessageLayout> layout; // null: not laid out
    int body = 0, footer = 0;              // heights; estimates until measured

    const QString& text() const { return version < turn.earlier.size() ? turn.earlier[version] : turn.text; }
    Message::Format format() const { return is_answer(turn) ? Message::Format::Markdown : Message::Format::Plain; }
};

struct HotArea {
    QRect rect; // in the viewport
    QString label;
    std::optional<TurnAction> action;
    int source = -1; // index of a citation; -1: none
};

} // namespace palimpsest::ui
