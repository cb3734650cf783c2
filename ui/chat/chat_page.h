// The chat as one page: the instructions, the start or the turns, and the composer, told by the engine's facts and
// frames.
//
// The signals of its parts are the window's to connect, but for what stays within: editing a question, the chips of
// what waits, and a sample question that is asked.
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

    void show_session(const std::shared_ptr<const SessionFacts>& facts); // null: none is open
    void show_frame(const Frame& frame);                                 // an answer grows
    void queue_question(quint64 id, const QString& question);
    void begin_question(quint64 id, const QString& question); // empty: the last answer is given anew
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

    quint64 running_ = 0; // the question that is being answered
    int64_t session_ = 0;
    std::shared_ptr<const SessionFacts> facts_later_; // came while an answer grew
};

} // namespace palimpsest::ui
