// A question as a button: it begins where reading begins, and is shortened where there is no room.
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
