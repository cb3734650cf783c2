#include "ui/chat/chat_selection.h"

#include <QStringList>

namespace palimpsest::ui {

void ChatSelection::begin(const ChatCursor& at, bool extend)
{
    caret_ = at;
    if (!extend || anchor_.turn < 0) anchor_ = at;
}

void ChatSelection::select_turn(const TurnList& turns, int turn)
{
    const ChatEntry& entry = turns[turn];
    MessageLayout plain;
    plain.set_text(entry.text(), entry.format());
    select({turn, plain.begin()}, {turn, plain.end()});
}

std::pair<ChatCursor, ChatCursor> ChatSelection::ordered() const
{
    return anchor_ < caret_ ? std::pair(anchor_, caret_) : std::pair(caret_, anchor_);
}

QString ChatSelection::join(const TurnList& turns, bool markdown) const
{
    const auto [from, to] = ordered();
    if (from.turn < 0 || from == to) return {};
    QStringList parts;
    for (int i = from.turn; i <= to.turn; ++i) {
        const ChatEntry& entry = turns[i];
        MessageLayout plain;
        plain.set_text(entry.text(), entry.format());
        const TextPosition begin = i == from.turn ? from.place : plain.begin();
        const TextPosition end = i == to.turn ? to.place : plain.end();
        parts += markdown ? plain.source_between(begin, end) : plain.text_between(begin, end);
    }
    return parts.join(QStringLiteral("\n\n"));
}

QString ChatSelection::text(const TurnList& turns) const
{
    return join(turns, false);
}

QString ChatSelection::markdown(const TurnList& turns) const
{
    return join(turns, true);
}

std::optional<TextSelection> ChatSelection::part_of(const TurnList& turns, int turn) const
{
    const auto [from, to] = ordered();
    if (from.turn < 0 || from == to || turn < from.turn || turn > to.turn) return std::nullopt;
    return TextSelection{turn == from.turn ? from.place : TextPosition{},
                         turn == to.turn ? to.place : turns[turn].layout->end()};
}

} // namespace palimpsest::ui
