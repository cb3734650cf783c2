// Where a character of a laid-out line is drawn, also where writing directions mix.
#pragma once

#include <QTextLayout>

namespace palimpsest::ui {

// A horizontal range in layout coordinates; empty for a character that is drawn with the one before it.
struct CharacterBox {
    qreal left = 0, right = 0;

    bool is_empty() const { return right <= left; }
};

// `at`: position in the layout's text. Measured from the glyphs: at a change of direction a cursor between two
// characters has two places, and QTextLine::cursorToX() knows one of them. Takes time in proportion to the line.
CharacterBox character_box(const QTextLine& line, int at);

} // namespace palimpsest::ui
