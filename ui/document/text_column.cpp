#include "ui/document/text_column.h"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

namespace palimpsest::ui {
namespace {

constexpr qreal leading = 1.35;       // line spacing, in heights of the font
constexpr int widest_column = 92;     // in average characters; longer lines are hard to read
constexpr int narrowest_column = 4;   // in heights of the font
constexpr qreal gutter = 2.2;         // space left of the text, in heights of the font
constexpr qreal margins = gutter + 1; // space left and right of the text together

} // namespace

TextColumn::TextColumn(const QFont& font, QSize viewport) : font_(font), viewport_(viewport)
{
    const QFontMetrics metrics(font);
    em_ = metrics.height();
    const qreal there = viewport.width() - margins * em_;
    width_ =
        std::max<qreal>(em_ * narrowest_column, std::min<qreal>(there, widest_column * metrics.averageCharWidth()));
    const qreal free = viewport.width() - gutter * em_ - em_ - width_;
    left_ = gutter * em_ + std::max<qreal>(0, std::floor(free / 2));
}

qreal TextColumn::line_height() const
{
    return em_ * leading;
}

} // namespace palimpsest::ui
