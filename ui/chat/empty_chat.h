// The start page, shown before the first question: an introduction and the first steps.
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

    // Title of the open document; empty: none is open, and the page offers to open one.
    void set_document(const QString& title);
    // Shown as buttons. Sample questions are asked at once, suggested ones are put into the question field.
    enum class Questions { Samples, Suggested };
    void set_questions(const QStringList& questions, Questions kind = Questions::Samples);

Q_SIGNALS:
    void open_wanted();
    void sample_wanted();
    void question_chosen(const QString& question);    // a sample
    void question_suggested(const QString& question); // a suggested one was chosen

protected:
    void changeEvent(QEvent* event) override;

private:
    void restyle();
    void update_texts();

    QLabel *title_, *what_, *try_;
    QPushButton *open_, *sample_;
    QVBoxLayout* column_;
    QVBoxLayout* questions_;
    QString document_;
    QStringList asked_;
    Questions kind_ = Questions::Samples; // of asked_
};

} // namespace palimpsest::ui
