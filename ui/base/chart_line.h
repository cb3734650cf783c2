// The lines and axes of a chart.
#pragma once

#include <QPointF>
#include <QString>
#include <functional>
#include <optional>
#include <vector>

namespace palimpsest::ui {

struct ChartLine {
    QString name;
    std::vector<QPointF> points{}; // x strictly ascending
    int style = 0;                 // selects the colour and the dash pattern
};

struct ChartAxis {
    QString title;
    std::function<QString(double)> text;   // formats ticks and values
    bool logarithmic = false;              // if set, values <= 0 are not drawn
    std::optional<double> least{}, most{}; // ends of the axis; unset: computed from the samples
};

} // namespace palimpsest::ui
