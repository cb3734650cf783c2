// A bar across the window with one message: a failure, with a button that can solve it, or a note. Blocks nothing.
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
        std::function<void()> act; // called by the button, after the message is hidden
    };
    // Replaces the current message, unless that is a failure and the new one a note. Screen readers announce the
    // message.
    void show_message(Kind kind, const QString& sentence, const Action& action = {});
    void withdraw(const QString& sentence); // hides the bar if it shows this sentence
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
