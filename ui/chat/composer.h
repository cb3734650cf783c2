// The question field, with queued questions above it and a Send or Stop button beside it.
#pragma once

#include <QFrame>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "ui/engine/session_facts.h"

class QHBoxLayout;
class QLabel;
class QToolButton;
class QVBoxLayout;

namespace palimpsest::ui {

class QuestionField;

// One line for a queued or edited question, with a button to cancel it.
class Chip : public QFrame {
    Q_OBJECT
public:
    Chip(const QString& text, const QString& cancel_name, QWidget* parent);
    const QString& text() const { return text_; }
    void set_details(const QString& details); // below it, in full

Q_SIGNALS:
    void cancelled();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QString text_;
    QLabel* label_;
    QToolButton* cross_;
    QLabel* details_ = nullptr; // null: none
};

class Composer : public QWidget {
    Q_OBJECT
public:
    explicit Composer(QWidget* parent = nullptr);

    QuestionField* field() const { return field_; }
    void set_enter_sends(bool sends);
    // While something runs, the button is Stop instead of Send, and questions are queued.
    void set_running(bool running);
    void add_waiting(quint64 id, const QString& question);
    void show_early_answer(quint64 id, const EarlyReply& reply); // under the queued question
    void remove_waiting(quint64 id);   // after it started or was cancelled; ignores unknown ids
    QString waiting(quint64 id) const; // the queued question; empty if there is none
    // Puts a message into the field; the next question sent replaces that message in a branch of the session.
    void edit_question(qint64 message, const QString& question);
    void set_question(const QString& question); // into the field, without sending it

Q_SIGNALS:
    void asked(const QString& question);
    void branched(qint64 message, const QString& question);
    void stop_wanted();
    void cancel_wanted(quint64 id);
    void text_pasted(const QString& text);
    void files_dropped(const QStringList& files);

private:
    struct Waiting {
        quint64 id;
        QString question;
        Chip* chip;
    };

    void send();
    void show_waiting();
    void end_edit();
    void update_button();

    QVBoxLayout* chips_;
    QLabel* more_;
    QuestionField* field_;
    QToolButton* button_;
    Chip* edited_ = nullptr;
    std::vector<Waiting> waiting_;
    qint64 edited_message_ = 0;
    bool running_ = false, enter_sends_ = true;
};

} // namespace palimpsest::ui
