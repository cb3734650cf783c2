// The selected text of a chat: from an anchor to a caret, which may be in different turns.
#pragma once

#include <optional>
#include <utility>

#include "ui/chat/turn_list.h"

namespace palimpsest::ui {

class ChatSelection {
public:
    // `extend`: keeps the anchor, if there is one.
    void begin(const ChatCursor& at, bool extend);
    void move_to(const ChatCursor& at) { caret_ = at; }
    void select(const ChatCursor& from, const ChatCursor& to) { anchor_ = from, caret_ = to; }
    void select_turn(const TurnList& turns, int turn);
    void clear() { anchor_ = caret_ = {}; }
    bool is_empty() const { return anchor_ == caret_; }

    QString text(const TurnList& turns) const;
    QString markdown(const TurnList& turns) const; // the source, in whole lines
    // The selected part of a turn; none if nothing of it is selected. REQUIRES: its layout exists.
    std::optional<TextSelection> part_of(const TurnList& turns, int turn) const;

private:
    std::pair<ChatCursor, ChatCursor> ordered() const;
    QString join(const TurnList& turns, bool markdown) const;

    ChatCursor anchor_, caret_;
};

} // namespace palimpsest::ui
