// Light or dark, and the few colours of our own. All else is the palette's.
#pragma once

#include <QColor>
#include <QPalette>

namespace palimpsest::ui {

// Qt 6.4 does not say what the desktop wants: the window's colours do.
bool is_dark(const QPalette& palette);

// WCAG 2.1: 1 to 21. Text wants 4.5.
double contrast(const QColor& a, const QColor& b);

// Of text or lines beside `background`, moved towards the palette's text until the contrast is `least`.
QColor readable(const QColor& wanted, const QPalette& palette, QPalette::ColorRole background, double least = 4.5);

// Quiet text: captions, axes, counts.
QColor secondary_text(const QPalette& palette);
// What is chosen, running, or the model's.
QColor accent(const QPalette& palette);
// Hairlines between areas.
QColor separator(const QPalette& palette);

} // namespace palimpsest::ui
