#include "ui/window/appearance.h"

#include <QApplication>
#include <QFont>
#include <QPalette>
#include <QStyle>

#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

struct Tones {
    QColor window, base, alternate, text, button, disabled, highlight, highlighted_text, link;
};

QPalette palette_of(const Tones& t)
{
    QPalette palette(t.button, t.window);
    const auto set = [&](QPalette::ColorRole role, const QColor& color) {
        palette.setColor(QPalette::All, role, color);
    };
    set(QPalette::Window, t.window);
    set(QPalette::Base, t.base);
    set(QPalette::AlternateBase, t.alternate);
    set(QPalette::ToolTipBase, t.alternate);
    set(QPalette::Button, t.button);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}) {
        set(role, t.text);
        palette.setColor(QPalette::Disabled, role, t.disabled);
    }
    set(QPalette::PlaceholderText, t.disabled);
    set(QPalette::Highlight, t.highlight);
    set(QPalette::HighlightedText, t.highlighted_text);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, t.disabled);
    set(QPalette::Link, t.link);
    set(QPalette::LinkVisited, t.link);
    return palette;
}

const Tones light{.window = "#f3f2ef",
                  .base = "#ffffff",
                  .alternate = "#f8f7f4",
                  .text = "#1f2023",
                  .button = "#eceae6",
                  .disabled = "#74767b",
                  .highlight = "#2c5f93",
                  .highlighted_text = "#ffffff",
                  .link = "#1f5587"};
const Tones dark{.window = "#232528",
                 .base = "#1a1c1e",
                 .alternate = "#2a2d30",
                 .text = "#e6e5e1",
                 .button = "#2f3236",
                 .disabled = "#8d9095",
                 .highlight = "#3d6f9f",
                 .highlighted_text = "#ffffff",
                 .link = "#8db8e0"};

// Returns the desktop's font as it was at the start of the program.
const QFont& desktop_font()
{
    static const QFont font = QApplication::font();
    return font;
}

QPalette wanted_palette(Colours colours)
{
    switch (colours) {
    case Colours::Light:
        return palette_of(light);
    case Colours::Dark:
        return palette_of(dark);
    case Colours::AsDesktop:
        break;
    }
    return {}; // with an empty palette, Qt uses the desktop's colours
}

QFont wanted_font(int percent)
{
    QFont font = desktop_font();
    font.setPointSizeF(font.pointSizeF() * percent / 100);
    return font;
}

} // namespace

void apply_appearance(const Preferences& preferences)
{
    const QFont font = wanted_font(preferences.text_percent);
    if (QApplication::font() != font) QApplication::setFont(font);
    static Colours shown = Colours::AsDesktop;
    if (std::exchange(shown, preferences.colours) != preferences.colours)
        QApplication::setPalette(wanted_palette(preferences.colours));
}

} // namespace palimpsest::ui
