// What the chat shows before anything was asked: what this is, and what to do first.
#pragma once

#include <QScrollArea>
#include <QStringList>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace palimpsest::ui {

class EmptyChat : public QScrollArea {
    Q_OBJECT
public:
    explicit EmptyChat(QWidget* parent = nullptr);

    // The open document, or empty: there is none, and opening one comes first.
    void set_document(const QString& title);
    void set_questions(const QStringList& questions); // offered as buttons; each a sentence

Q_SIGNALS:
    void open_wanted();
    void sample_wanted();
    void question_chosen(const QString& question);

protected:
    void changeEvent(QEvent* event) override;

private:
    void restyle();
    void retell();

    QLabel *title_, *what_, *try_;
    QPushButton *open_, *sample_;
    QVBoxLayout* column_;
    QVBoxLayout* questions_;
    QString document_;
};

} // namespace palimpsest::ui
