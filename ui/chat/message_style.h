// Fonts, colours and sizes for messages.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>

namespace palimpsest::ui {

struct MessageStyle {
    QFont font, code_font;
    QColor text, quiet, accent, link, line, code_background, selection, selected_text;
    int line_height = 0, character = 0, padding = 0, indent = 0; // pixels

    static MessageStyle of(const QFont& font, const QPalette& palette); // `font` and `palette` of the view
};

} // namespace palimpsest::ui
