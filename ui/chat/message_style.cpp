#include "ui/chat/message_style.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto between = [&](float x, float y) { return static_cast<float>(x + (y - x) * share); };
    return QColor::fromRgbF(between(a.redF(), b.redF()), between(a.greenF(), b.greenF()),
                            between(a.blueF(), b.blueF()));
}

} // namespace

MessageStyle MessageStyle::of(const QFont& font, const QPalette& palette)
{
    MessageStyle style;
    style.font = font;
    style.code_font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    style.code_font.setPointSizeF(font.pointSizeF() > 0 ? font.pointSizeF() * 0.95 : 10);
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    style.text = text;
    style.code_background = mixed(base, text, 0.055);
    QPalette on_base = palette;
    on_base.setColor(QPalette::Window, base);
    on_base.setColor(QPalette::WindowText, text);
    style.quiet = readable(secondary_text(on_base), on_base, QPalette::Window);
    style.accent = ui::accent(on_base);
    style.link = readable(palette.color(QPalette::Link), on_base, QPalette::Window);
    style.line = separator(on_base);
    style.selection = palette.color(QPalette::Highlight);
    style.selected_text = palette.color(QPalette::HighlightedText);
    const QFontMetricsF metrics(font);
    style.line_height = static_cast<int>(std::ceil(metrics.height() * 1.25));
    style.character = std::max(1, static_cast<int>(metrics.averageCharWidth()));
    style.padding = static_cast<int>(metrics.height() * 0.5);
    style.indent = static_cast<int>(metrics.height() * 1.5);
    return style;
}

} // namespace palimpsest::ui
