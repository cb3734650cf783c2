#include "ui/base/line_text.h"

#include <QStyle>
#include <QTextBoundaryFinder>

namespace palimpsest::ui {

void draw_line_text(QPainter& painter, const QRect& rect, const QString& text, Qt::LayoutDirection direction,
                    Qt::TextElideMode mode)
{
    const Qt::Alignment edge = QStyle::visualAlignment(direction, Qt::AlignLeft) | Qt::AlignAbsolute;
    const Qt::LayoutDirection before = painter.layoutDirection();
    painter.setLayoutDirection(text.isRightToLeft() ? Qt::RightToLeft : Qt::LeftToRight);
    painter.drawText(rect, static_cast<int>(edge | Qt::AlignVCenter) | Qt::TextSingleLine,
                     painter.fontMetrics().elidedText(text, mode, rect.width()));
    painter.setLayoutDirection(before);
}

QString isolated(const QString& text)
{
    return QChar(0x2068) + text + QChar(0x2069);
}

QString leading_characters(const QString& text, qsizetype length)
{
    if (text.size() <= length) return text;
    QTextBoundaryFinder characters(QTextBoundaryFinder::Grapheme, text);
    characters.setPosition(length);
    if (!characters.isAtBoundary()) characters.toPreviousBoundary();
    return text.left(characters.position() > 0 ? characters.position() : length);
}

QTextOption paragraph_option(const QString& text)
{
    QTextOption option(text.isRightToLeft() ? Qt::AlignRight : Qt::AlignLeft);
    option.setTextDirection(Qt::LayoutDirectionAuto);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    return option;
}

} // namespace palimpsest::ui
