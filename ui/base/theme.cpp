#include "ui/base/theme.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::ui {
namespace {

double linear(double channel)
{
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color)
{
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

QColor mix(const QColor& a, const QColor& b, double share)
{
    const auto between = [&](float x, float y) { return static_cast<float>(x + (y - x) * share); };
    return QColor::fromRgbF(between(a.redF(), b.redF()), between(a.greenF(), b.greenF()),
                            between(a.blueF(), b.blueF()));
}

} // namespace

bool is_dark(const QPalette& palette)
{
    return luminance(palette.color(QPalette::Window)) < luminance(palette.color(QPalette::WindowText));
}

double contrast(const QColor& a, const QColor& b)
{
    const auto [low, high] = std::minmax({luminance(a), luminance(b)});
    return (high + 0.05) / (low + 0.05);
}

QColor readable(const QColor& wanted, const QPalette& palette, QPalette::ColorRole background, double least)
{
    const QColor behind = palette.color(background);
    const QColor text = is_dark(palette) ? QColor(Qt::white) : QColor(Qt::black);
    constexpr int steps = 20;
    for (int step = 0; step < steps; ++step) {
        const QColor tried = mix(wanted, text, static_cast<double>(step) / steps);
        if (contrast(tried, behind) >= least) return tried;
    }
    return text;
}

QColor secondary_text(const QPalette& palette)
{
    return readable(mix(palette.color(QPalette::WindowText), palette.color(QPalette::Window), 0.4), palette,
                    QPalette::Window);
}

QColor accent(const QPalette& palette)
{
    return readable(palette.color(QPalette::Highlight), palette, QPalette::Window);
}

QColor separator(const QPalette& palette)
{
    return mix(palette.color(QPalette::Window), palette.color(QPalette::WindowText), 0.18);
}

} // namespace palimpsest::ui
