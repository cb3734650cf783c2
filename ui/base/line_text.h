// Text on one line: reads in the direction of its first letter, whatever the direction of the window is.
#pragma once

#include <QPainter>
#include <QRect>
#include <QString>
#include <QTextOption>

namespace palimpsest::ui {

// Draws the text with the painter's font, elided if it does not fit, from the edge of `rect` where text of
// `direction` begins: titles of both directions stand below one another.
void draw_line_text(QPainter& painter, const QRect& rect, const QString& text, Qt::LayoutDirection direction,
                    Qt::TextElideMode mode = Qt::ElideRight);

// The text between U+2068 and U+2069, so that it reorders nothing that stands beside it on its line.
QString isolated(const QString& text);

// The longest beginning of whole characters (grapheme clusters) with at most `length` UTF-16 units.
QString leading_characters(const QString& text, qsizetype length);

// For a paragraph: lines break where no space is, too, and right-to-left text begins at the right.
QTextOption paragraph_option(const QString& text);

} // namespace palimpsest::ui
