// A turn of the chat view with its layout, and a place in a turn.
#pragma once

#include <memory>

#include "ui/chat/message_layout.h"
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

    const QString& text() const { return is_newest() ? turn.text : turn.earlier[version]; }
    Message::Format format() const { return is_answer(turn) ? Message::Format::Markdown : Message::Format::Plain; }
    bool is_newest() const { return version >= turn.earlier.size(); }
};

// A place in the text of a turn.
struct ChatCursor {
    int turn = -1; // -1: none
    TextPosition place;
    auto operator<=>(const ChatCursor&) const = default;
};

} // namespace palimpsest::ui
