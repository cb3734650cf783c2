// The turns of a chat (questions and answers), oldest first, and the answer that grows at their end: the name,
// text, notes and actions of each.
#pragma once

#include <QCoreApplication>
#include <memory>
#include <vector>

#include "ui/chat/chat_entry.h"
#include "ui/chat/turn_action.h"

namespace palimpsest::ui {

class TurnList {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::TurnList)
public:
    int count() const { return static_cast<int>(entries_.size()); }
    bool is_empty() const { return entries_.empty(); }
    bool has(int turn) const { return turn >= 0 && turn < count(); }
    // Every function with a parameter `turn` REQUIRES has(turn).
    ChatEntry& operator[](int turn) { return *entries_[static_cast<size_t>(turn)]; }
    const ChatEntry& operator[](int turn) const { return *entries_[static_cast<size_t>(turn)]; }

    // Unchanged turns keep their layout. Ends a growing answer. Returns whether there are fewer turns than before.
    bool set(const std::vector<Turn>& turns);
    // Adds a question with a growing answer below it; with an empty question, the last answer is generated again.
    void begin_answer(const QString& question);
    void end_answer(const Turn& answer);
    bool is_answering() const { return answering_; }
    std::vector<Turn> before_answer() const; // as they were before begin_answer(). REQUIRES: is_answering()

    QString name(int turn) const;  // the speaker and the state
    QString text(int turn) const;  // the displayed text, as plain text
    QString notes(int turn) const; // coverage and state
    std::vector<TurnAction> actions(int turn) const;
    QString action_label(int turn, TurnAction action) const;

private:
    std::vector<std::unique_ptr<ChatEntry>> entries_;
    bool answering_ = false;
};

} // namespace palimpsest::ui
