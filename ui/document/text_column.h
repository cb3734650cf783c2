// The column of text in a viewport: its left edge and width, and the height of its lines. A value type; all
// lengths are pixels.
#pragma once

#include <QFont>
#include <QSize>

namespace palimpsest::ui {

class TextColumn {
public:
    TextColumn() = default; // of an empty viewport
    TextColumn(const QFont& font, QSize viewport);

    const QFont& font() const { return font_; }
    QSize viewport() const { return viewport_; }
    int height() const { return viewport_.height(); }
    int em() const { return em_; } // height of the font
    qreal line_height() const;
    // The left gutter holds the marks of pins and chapters, the right margin those of highlights.
    qreal left() const { return left_; }
    qreal width() const { return width_; }

private:
    QFont font_;
    QSize viewport_;
    int em_ = 0;
    qreal left_ = 0, width_ = 0;
};

} // namespace palimpsest::ui
