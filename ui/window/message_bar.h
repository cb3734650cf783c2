// A sentence across the window that does not interrupt: what went wrong and what to do, or what is worth knowing.
#pragma once

#include <QFrame>

class QLabel;
class QToolButton;

namespace palimpsest::ui {

class MessageBar : public QFrame {
    Q_OBJECT
public:
    enum class Kind { Note, Failure };

    explicit MessageBar(QWidget* parent = nullptr);

    // In place of what is shown; a note does not take the place of a failure. Is read out to those who listen.
    void show_message(Kind kind, const QString& sentence);
    QString sentence() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    void draw_symbol();

    QLabel *symbol_, *text_;
    QToolButton* close_;
    Kind kind_ = Kind::Note;
};

} // namespace palimpsest::ui
