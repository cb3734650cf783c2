// A sentence across the window that does not interrupt: what went wrong and what to do, or what is worth knowing.
#pragma once

#include <QFrame>
#include <functional>

class QLabel;
class QToolButton;

namespace palimpsest::ui {

class MessageBar : public QFrame {
    Q_OBJECT
public:
    enum class Kind { Note, Failure };

    explicit MessageBar(QWidget* parent = nullptr);

    struct Action {
        QString text;
        std::function<void()> act; // the message goes first
    };
    // In place of what is shown; a note does not take the place of a failure. Is read out to those who listen.
    void show_message(Kind kind, const QString& sentence, const Action& action = {});
    void withdraw(const QString& sentence); // if it is what is shown
    QString sentence() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    void draw_symbol();

    QLabel *symbol_, *text_;
    QToolButton *act_, *close_;
    std::function<void()> action_;
    Kind kind_ = Kind::Note;
};

} // namespace palimpsest::ui
