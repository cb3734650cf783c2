#include "ui/chat/question_button.h"

#include <QStyleOptionButton>
#include <QStylePainter>

#include "ui/base/line_text.h"

namespace palimpsest::ui {

QuestionButton::QuestionButton(const QString& question, QWidget* parent) : QPushButton(parent), question_(question)
{
    setText(QString(question).replace(QLatin1Char('&'), QStringLiteral("&&")));
    setAccessibleName(question);
}

int QuestionButton::padding() const
{
    return fontMetrics().height() * 2 / 3;
}

QSize QuestionButton::sizeHint() const
{
    return {fontMetrics().horizontalAdvance(question_) + 2 * padding(), fontMetrics().height() + padding()};
}

QSize QuestionButton::minimumSizeHint() const
{
    return {4 * padding(), sizeHint().height()};
}

// Lets the style paint the button without its text, and paints the text itself, which styles would centre.
void QuestionButton::paintEvent(QPaintEvent*)
{
    QStylePainter painter(this);
    QStyleOptionButton option;
    initStyleOption(&option);
    option.text.clear();
    painter.drawControl(QStyle::CE_PushButton, option);
    const QRect inside = rect().adjusted(padding(), 0, -padding(), 0);
    painter.setPen(option.palette.color(QPalette::ButtonText));
    draw_line_text(painter, inside, question_, layoutDirection());
}

} // namespace palimpsest::ui
