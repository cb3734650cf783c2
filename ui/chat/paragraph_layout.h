// Layout of a plain-text document in which each paragraph begins at the side from which its own text is read.
#pragma once

#include <QPlainTextDocumentLayout>

namespace palimpsest::ui {

// For a document whose default text option has the direction Qt::LayoutDirectionAuto, which orders the letters. A
// paragraph without letters begins where the paragraph before it does.
class ParagraphLayout final : public QPlainTextDocumentLayout {
public:
    using QPlainTextDocumentLayout::QPlainTextDocumentLayout;

    // Also aligns the lines of the block: Qt asks for its rectangle before it paints it or looks for a position.
    QRectF blockBoundingRect(const QTextBlock& block) const override;
};

} // namespace palimpsest::ui
