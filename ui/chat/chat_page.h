// The chat page: instructions, start page or turns, and composer; updated from session facts and frames.
//
// Areas (ui/desktop) connects the signals of the parts to the rest of the program. Connected here are only three,
// which go to the composer: editing a question, asking a sample question, and choosing a suggested one.
#pragma once

#include <QWidget>
#include <memory>

#include "ui/engine/frame.h"
#include "ui/engine/session_facts.h"

class QStackedWidget;

namespace palimpsest::ui {

class ChatView;
class Composer;
class EmptyChat;
class Instructions;

class ChatPage : public QWidget {
    Q_OBJECT
public:
    explicit ChatPage(QWidget* parent = nullptr);

    ChatView* view() const { return view_; }
    Composer* composer() const { return composer_; }
    EmptyChat* start() const { return start_; }
    Instructions* instructions() const { return instructions_; }

    void show_session(const std::shared_ptr<const SessionFacts>& facts); // null: no session is open
    void show_frame(const Frame& frame);                                 // updates the growing answer
    void queue_question(quint64 id, const QString& question);
    void show_early_answer(quint64 id, const EarlyReply& reply);
    void begin_question(quint64 id, const QString& question); // empty: the last question is answered again
    void end_question(quint64 id, const Turn& answer);
    void drop_question(quint64 id); // cancelled or failed

private:
    void choose_page();

    QStackedWidget* pages_;
    ChatView* view_;
    Composer* composer_;
    EmptyChat* start_;
    Instructions* instructions_;
    void end_running();

    quint64 running_ = 0; // id of the question being answered
    int64_t session_ = 0;
    std::shared_ptr<const SessionFacts> facts_later_; // to be shown when the growing answer ends
};

} // namespace palimpsest::ui
