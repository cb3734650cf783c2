// Draws a MapScene on the screen or into a file. Sizes derive from the font, colours from the palette.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QRectF>
#include <optional>

#include "ui/map/cells.h"
#include "ui/map/place.h"
#include "ui/map/scene.h"

class QImage;
class QPainter;

namespace palimpsest::ui {

// The areas of a picture. All rows have the same height, a whole number; the plot is no higher than its rows.
struct MapLayout {
    QRectF title, marks, sources, labels, plot, pins, axis, legend;
    double row_height = 0;
    double rows_height = 0; // height of all rows; larger than that of the plot if the rows must be scrolled
    double scroll = 0;      // distance by which the rows are scrolled up

    QRectF row(int index) const;           // full width of the plot, not clipped to it
    int row_at(double y, int count) const; // -1: no row there
};

class RetentionPainter {
public:
    // Pixels: one column per device pixel. Shapes: one column per unit of the layout, drawn as paths, for SVG
    // files.
    enum class Style { Pixels, Shapes };

    RetentionPainter(const QFont& font, const QPalette& palette);

    MapLayout layout(const MapScene& scene, const QRectF& area, double scroll = 0) const;
    // Height at which rows are easy to distinguish and need no scrolling.
    double natural_height(const MapScene& scene, double width) const;

    // Draws everything except the crosshair. `device_ratio`: device pixels per unit of `painter`. Cost:
    // count_cells() plus the pixels of the area.
    void paint(QPainter& painter, const MapScene& scene, const MapLayout& layout, Style style,
               double device_ratio = 1) const;
    void paint_crosshair(QPainter& painter, const MapScene& scene, const MapLayout& layout,
                         const MapCell& place) const;
    // The two areas that paint_crosshair draws on: a strip along the row and one along the column.
    std::pair<QRectF, QRectF> crosshair_strips(const MapScene& scene, const MapLayout& layout,
                                               const MapCell& place) const;

    // The columns into which paint() divides the plot.
    static TokenColumns columns(const MapScene& scene, const MapLayout& layout, double device_ratio = 1);

    QColor background() const { return background_; }
    QColor text() const { return text_; }
    QColor quiet() const { return quiet_; }
    QColor mark() const { return mark_; } // for answer sources and the selection

private:
    struct Legend;

    double em() const;
    double line() const;
    double x_of(const MapScene& scene, const MapLayout& layout, double token) const;
    double label_width(const MapRows& rows) const;
    double legend_height(const MapScene& scene, double width) const;

    void paint_cells(QPainter& painter, const MapScene& scene, const MapLayout& layout, double device_ratio) const;
    void paint_shapes(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_unread(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_hatching(QPainter& painter, const QRectF& area) const;
    void paint_labels(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_label(QPainter& painter, const MapScene& scene, const QRectF& place, const MapRow& row) const;
    void paint_axis(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_sections(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_pins(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_sources(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_selection(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_legend(QPainter& painter, const MapScene& scene, const MapLayout& layout) const;
    void paint_ramp(QPainter& painter, const QRectF& bar) const;

    QFont font_, small_;
    QPalette palette_;
    bool dark_;
    QColor background_, text_, quiet_, mark_;
};

} // namespace palimpsest::ui
