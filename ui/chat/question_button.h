// A button with a question as its text, aligned to the leading edge and elided if it does not fit.
#pragma once

#include <QPushButton>

namespace palimpsest::ui {

class QuestionButton : public QPushButton {
    Q_OBJECT
public:
    explicit QuestionButton(const QString& question, QWidget* parent = nullptr);

    const QString& question() const { return question_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int padding() const;

    QString question_;
};

} // namespace palimpsest::ui
