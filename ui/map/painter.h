// Draws a scene: on the screen, into PNG and SVG, and into a report. All text and colours come from font and
// palette.
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

// Where the parts of a picture lie. Rows are of equal, whole height; the plot is no higher than they need.
struct MapLayout {
    QRectF title, marks, sources, labels, plot, pins, axis, legend;
    double row_height = 0;
    double rows_height = 0; // of all rows; more than the plot's where they have to be scrolled
    double scroll = 0;      // of them above the plot

    QRectF row(int index) const;           // across the plot, not cut to it
    int row_at(double y, int count) const; // -1: none there
};

class RetentionPainter {
public:
    // Pixels: a column a device pixel. Shapes: a column a unit, drawn as outlines, for files that are scaled.
    enum class Style { Pixels, Shapes };

    RetentionPainter(const QFont& font, const QPalette& palette);

    MapLayout layout(const MapScene& scene, const QRectF& area, double scroll = 0) const;
    // The height at which rows are easily told apart, and none has to be scrolled.
    double natural_height(const MapScene& scene, double width) const;

    // All but the crosshair. `device_ratio`: device pixels in a unit of `painter`. Costs what the area's pixels
    // cost, and count_cells().
    void paint(QPainter& painter, const MapScene& scene, const MapLayout& layout, Style style,
               double device_ratio = 1) const;
    void paint_crosshair(QPainter& painter, const MapScene& scene, const MapLayout& layout,
                         const MapPlace& place) const;
    // What paint_crosshair touches: a strip along the row, one across it.
    std::pair<QRectF, QRectF> crosshair_strips(const MapScene& scene, const MapLayout& layout,
                                               const MapPlace& place) const;

    // The columns of the plot, as paint() divides it.
    static TokenColumns columns(const MapScene& scene, const MapLayout& layout, double device_ratio = 1);

    QColor background() const { return background_; }
    QColor text() const { return text_; }
    QColor quiet() const { return quiet_; }
    QColor mark() const { return mark_; } // of sources and the selection

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
