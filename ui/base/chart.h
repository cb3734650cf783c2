// Curves over one axis: lines told apart by colour and by dashes, ticks in the reader's language, a legend, and a
// crosshair that says the values, by mouse or by keys: Left and Right go from sample to sample (with Shift, ten),
// Home and End to the first and the last, Escape takes it away, T shows everything as a table.
//
// A painting costs what the samples given cost: callers keep them bounded (thinned.h).
#pragma once

#include <QColor>
#include <QPalette>
#include <QPointF>
#include <QString>
#include <QWidget>
#include <functional>
#include <optional>
#include <vector>

class QDialog;

namespace palimpsest::ui {

struct ChartLine {
    QString name;
    std::vector<QPointF> points{}; // x strictly ascending
    int style = 0;                 // of the colour and the dashes
};

struct ChartAxis {
    QString title;
    std::function<QString(double)> text;   // of a tick and of a value
    bool logarithmic = false;              // then values of 0 and less are not drawn
    std::optional<double> least{}, most{}; // none: from the lines
};

// Told apart by colour-blind readers, and readable on `background`.
QColor chart_color(int style, const QPalette& palette, QPalette::ColorRole background);
// Round numbers (1, 2, 5 times a power of ten) from `least` to `most`, about `count` of them and at least two; of a
// logarithmic axis powers of ten, closer ones where there would be fewer than three.
std::vector<double> chart_ticks(double least, double most, int count, bool logarithmic);

class Chart final : public QWidget {
    Q_OBJECT
public:
    // `name`: what assistive tools call it.
    explicit Chart(const QString& name, QWidget* parent = nullptr);

    void set_axes(ChartAxis x, ChartAxis y);
    void set_lines(std::vector<ChartLine> lines);
    const std::vector<ChartLine>& lines() const { return lines_; }
    const ChartAxis& y_axis() const { return y_; }

    // Where the crosshair stands: an x that some line has, or none.
    std::optional<double> crosshair() const { return crosshair_; }
    void set_crosshair(std::optional<double> x);
    QString crosshair_text() const; // all values there, a line each; empty for none
    // The values as a table, in a window of its own. As they are now.
    QDialog* show_table();

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void crosshair_moved(); // also by set_crosshair

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    struct Frame; // the area of the curves and what its edges mean
    Frame frame() const;
    std::pair<double, double> range_of(const ChartAxis& axis, bool vertical) const;
    int legend_height() const;
    std::vector<QRect> legend_places() const;
    QPen pen_of(const ChartLine& line, double width) const;
    void paint_axes(QPainter& painter, const Frame& frame) const;
    void paint_lines(QPainter& painter, const Frame& frame) const;
    void paint_legend(QPainter& painter) const;
    void paint_crosshair(QPainter& painter, const Frame& frame) const;
    std::vector<double> places() const; // every x of a line, ascending
    void step(int by);

    ChartAxis x_, y_;
    std::vector<ChartLine> lines_;
    std::optional<double> crosshair_;
};

} // namespace palimpsest::ui
