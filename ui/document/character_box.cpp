#include "ui/document/character_box.h"

#include <QGlyphRun>
#include <QRawFont>
#include <algorithm>
#include <limits>

namespace palimpsest::ui {

CharacterBox character_box(const QTextLine& line, int at)
{
    CharacterBox box{std::numeric_limits<qreal>::max(), std::numeric_limits<qreal>::lowest()};
    for (const QGlyphRun& run : line.glyphRuns(at, 1)) {
        const QList<quint32> glyphs = run.glyphIndexes();
        const QList<QPointF> places = run.positions(), advances = run.rawFont().advancesForGlyphIndexes(glyphs);
        for (qsizetype i = 0; i < std::min(places.size(), advances.size()); ++i) {
            box.left = std::min(box.left, places[i].x());
            box.right = std::max(box.right, places[i].x() + advances[i].x());
        }
    }
    if (box.left <= box.right) return box;
    const qreal x = line.cursorToX(at);
    return {x, x};
}

} // namespace palimpsest::ui
