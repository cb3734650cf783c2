#include "ui/chat/paragraph_layout.h"

#include <QTextBlock>
#include <QTextLayout>
#include <QTextOption>
#include <algorithm>

namespace palimpsest::ui {
namespace {

bool has_letters(const QString& text)
{
    return std::ranges::any_of(text.toUcs4(), [](uint c) { return QChar::isLetter(c); });
}

bool reads_leftwards(QTextBlock block)
{
    while (!has_letters(block.text()) && block.previous().isValid())
        block = block.previous();
    return block.text().isRightToLeft();
}

} // namespace

// QTextLine aligns itself when its position is asked for, so that the lines need not be laid out again.
QRectF ParagraphLayout::blockBoundingRect(const QTextBlock& block) const
{
    const QRectF rectangle = QPlainTextDocumentLayout::blockBoundingRect(block);
    if (!block.isValid()) return rectangle;
    QTextOption option = block.layout()->textOption();
    option.setAlignment(reads_leftwards(block) ? Qt::AlignRight : Qt::AlignLeft);
    block.layout()->setTextOption(option);
    return rectangle;
}

} // namespace palimpsest::ui
