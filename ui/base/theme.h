// Detects light or dark themes and derives a few colours from the palette; everything else uses the palette
// directly.
#pragma once

#include <QColor>
#include <QPalette>

namespace palimpsest::ui {

// Whether the window's text is lighter than its background. Qt 6.4 does not report the desktop's colour scheme.
bool is_dark(const QPalette& palette);

// WCAG 2.1 contrast ratio, 1 to 21. Text needs at least 4.5.
double contrast(const QColor& a, const QColor& b);

// Returns `wanted`, mixed with as much white (dark theme) or black (light theme) as a contrast of `least` with
// `background` needs.
QColor readable(const QColor& wanted, const QPalette& palette, QPalette::ColorRole background, double least = 4.5);

// For captions, axes and counts.
QColor secondary_text(const QPalette& palette);
// For marks, such as that of the current turn or the cursor of a growing answer.
QColor accent(const QPalette& palette);
// For hairlines between areas.
QColor separator(const QPalette& palette);

} // namespace palimpsest::ui
