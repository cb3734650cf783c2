// A turn of the chat view (a question or an answer) with its layout, and a place in its text.
#pragma once

#include <memory>

#include "ui/chat/message_layout.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

inline constexpr size_t sources_shown = 9; // the keys 1 to 9 open them

inline bool is_answer(const Turn& turn)
{
    return turn.role == storage::Role::Assistant;
}

struct ChatEntry {
    Turn turn;
    size_t version = 0; // which text is shown: an index in turn.earlier, or its size for turn.text
    bool growing = false, measured = false;
    std::unique_ptr<MessageLayout> layout; // null: not laid out yet, or discarded
    int body = 0, footer = 0;              // heights in pixels; estimates until `measured`

    const QString& text() const { return is_newest() ? turn.text : turn.earlier[version]; }
    Message::Format format() const { return is_answer(turn) ? Message::Format::Markdown : Message::Format::Plain; }
    bool is_newest() const { return version >= turn.earlier.size(); }
};

// A place in the text of a turn.
struct ChatCursor {
    int turn = -1; // -1: none
    TextPosition place;
    auto operator<=>(const ChatCursor&) const = default; // NOLINT(modernize-use-nullptr): no pointer here
};

} // namespace palimpsest::ui
