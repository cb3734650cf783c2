// Line chart with a shared x axis. Lines differ in colour and dash pattern; tick labels follow the locale. The
// chart has a legend and a crosshair that shows the values at one x. The mouse or the keys move the crosshair: Left
// and Right go to the next sample (with Shift, ten samples), Home and End to the first and last, Escape hides it, T
// shows all values as a table.
//
// Painting is linear in the number of samples, so callers must bound that number (thinned.h).
#pragma once

#include <QColor>
#include <QPalette>
#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

#include "ui/base/chart_line.h"

class QDialog;

namespace palimpsest::ui {

// Returns one of four colours (`style` modulo 4), which colour-blind users can tell apart, readable on
// `background`.
QColor chart_color(int style, const QPalette& palette, QPalette::ColorRole background);
// Returns round numbers (1, 2 or 5 times a power of ten) from `least` to `most`: about `count` of them, and usually
// at least two. A logarithmic axis has powers of ten, and also 2 and 5 times them if the range spans fewer than
// three decades.
std::vector<double> chart_ticks(double least, double most, int count, bool logarithmic);

class Chart final : public QWidget {
    Q_OBJECT
public:
    // `name` is the accessible name.
    explicit Chart(const QString& name, QWidget* parent = nullptr);

    void set_axes(ChartAxis x, ChartAxis y);
    void set_lines(std::vector<ChartLine> lines);
    const std::vector<ChartLine>& lines() const { return lines_; }
    const ChartAxis& y_axis() const { return y_; }

    // Returns the x of the crosshair, which is always that of a sample; none if it is hidden.
    std::optional<double> crosshair() const { return crosshair_; }
    void set_crosshair(std::optional<double> x);
    QString crosshair_text() const; // one line per value; empty if hidden
    // Opens a dialog with the current values as a table. The table does not follow later changes.
    QDialog* show_table();

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void crosshair_moved(); // also emitted by set_crosshair

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    struct Frame; // the plot area and the ranges of its axes
    Frame frame() const;
    std::pair<double, double> range_of(const ChartAxis& axis, bool vertical) const;
    int legend_height() const;
    std::vector<QRect> legend_places() const;
    QPen pen_of(const ChartLine& line, double width) const;
    void paint_axes(QPainter& painter, const Frame& frame) const;
    void paint_lines(QPainter& painter, const Frame& frame) const;
    void paint_legend(QPainter& painter) const;
    void paint_crosshair(QPainter& painter, const Frame& frame) const;
    std::vector<double> places() const; // the x of all samples, ascending and distinct
    void step(int by);

    ChartAxis x_, y_;
    std::vector<ChartLine> lines_;
    std::optional<double> crosshair_;
};

} // namespace palimpsest::ui
