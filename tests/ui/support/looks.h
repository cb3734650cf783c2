// Checks for the looks of any widget: its colours follow the palette, its texts have room, and it has names for
// assistive technology. Also saves pictures.
#pragma once

#include <QAbstractButton>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QDebug>
#include <QDir>
#include <QLabel>
#include <QPalette>
#include <QStringList>
#include <QTabBar>
#include <QTest>
#include <QToolButton>
#include <QWidget>
#include <algorithm>
#include <functional>
#include <memory>

#include "tests/ui/support/at_rest.h"

namespace palimpsest::ui::test {

inline QPalette light_palette()
{
    return QPalette(QColor(0xf3, 0xf3, 0xf3));
}

inline QPalette dark_palette()
{
    QPalette palette(QColor(0x2b, 0x2d, 0x30));
    palette.setColor(QPalette::Base, QColor(0x1f, 0x20, 0x22));
    palette.setColor(QPalette::AlternateBase, QColor(0x26, 0x28, 0x2a));
    palette.setColor(QPalette::Highlight, QColor(0x3d, 0x7e, 0xdb));
    palette.setColor(QPalette::HighlightedText, Qt::white);
    palette.setColor(QPalette::ToolTipBase, QColor(0x33, 0x35, 0x38));
    palette.setColor(QPalette::ToolTipText, QColor(0xee, 0xee, 0xee));
    palette.setColor(QPalette::PlaceholderText, QColor(0xa0, 0xa0, 0xa0));
    for (const auto role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, QColor(0x90, 0x90, 0x90));
    return palette;
}

// Saves pictures of the widget in light and dark colours if PALIMPSEST_PICTURES names a folder.
inline void keep_pictures(QWidget& widget, const QString& name)
{
    const QString folder = qEnvironmentVariable("PALIMPSEST_PICTURES");
    if (folder.isEmpty()) return;
    QDir().mkpath(folder);
    for (const bool dark : {false, true}) {
        QApplication::setPalette(dark ? dark_palette() : light_palette());
        if (!comes_to_rest(widget)) return;
        const QString scale = QString::number(widget.devicePixelRatioF());
        widget.grab().save(QStringLiteral("%1/%2-%3-%4.png").arg(folder, name, dark ? "dark" : "light", scale));
    }
    QApplication::setPalette(light_palette());
}

// Returns the bounding rectangle of all pixels that differ.
inline QRect difference(const QImage& a, const QImage& b)
{
    QRect found;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x)
            if (!b.rect().contains(x, y) || a.pixel(x, y) != b.pixel(x, y)) found |= QRect(x, y, 1, 1);
    return found;
}

// Checks that a widget that was made in light colours and then switched to dark ones looks like one made in dark
// colours, and the reverse. Returns the differences, or nothing. `make` makes and shows the same widget every time.
inline QString colours_that_stay(const std::function<std::shared_ptr<QWidget>()>& make)
{
    const int blinking = QApplication::cursorFlashTime();
    QApplication::setCursorFlashTime(0);
    QString trouble;
    for (const bool dark : {true, false}) {
        QImage seen[2];
        for (const bool changed : {false, true}) {
            const auto use = [](bool is_dark) {
                QApplication::setPalette(is_dark ? dark_palette() : light_palette());
            };
            use(changed ? !dark : dark);
            const std::shared_ptr<QWidget> widget = make();
            if (!comes_to_rest(*widget)) return QStringLiteral("it does not come to rest");
            use(dark);
            if (!comes_to_rest(*widget)) return QStringLiteral("it does not come to rest");
            seen[changed ? 1 : 0] = widget->grab().toImage();
        }
        if (seen[0] == seen[1]) continue;
        trouble += QStringLiteral("turned %1: differs in ").arg(dark ? "dark" : "light");
        QDebug(&trouble) << difference(seen[0], seen[1]);
    }
    QApplication::setCursorFlashTime(blinking);
    QApplication::setPalette(light_palette());
    return trouble;
}

// Describes the widgets below `root` that are too small for their texts.
inline QStringList clipped(const QWidget& root)
{
    QStringList found;
    const auto note = [&](const QWidget* widget, const QString& text) {
        found << QStringLiteral("%1: %2").arg(QLatin1String(widget->metaObject()->className()), text);
    };
    const auto width_of = [](const QWidget* widget, const QString& text) {
        return widget->fontMetrics().size(Qt::TextShowMnemonic, text).width();
    };
    const auto shows_text = [](const QAbstractButton& button) {
        const auto* tool = qobject_cast<const QToolButton*>(&button);
        const bool is_symbol = tool && tool->toolButtonStyle() == Qt::ToolButtonIconOnly && !tool->icon().isNull();
        return button.isVisible() && !button.text().isEmpty() && !is_symbol;
    };
    for (const auto* button : root.findChildren<QAbstractButton*>())
        if (shows_text(*button) &&
            button->width() < std::max(width_of(button, button->text()), button->minimumSizeHint().width() - 1))
            note(button, button->text());
    for (const auto* label : root.findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty() || label->hasScaledContents()) continue;
        const bool fits = label->wordWrap() ? label->height() + 1 >= label->heightForWidth(label->width())
                                            : label->width() + 1 >= label->minimumSizeHint().width();
        if (!fits) note(label, label->text());
    }
    for (const auto* bar : root.findChildren<QTabBar*>())
        for (int i = 0; bar->isVisible() && i < bar->count(); ++i)
            if (bar->tabRect(i).width() < width_of(bar, bar->tabText(i))) note(bar, bar->tabText(i));
    return found;
}

// Whether Qt made the widget inside another one, whose accessible name covers both.
inline bool is_inner_part(const QWidget& widget)
{
    const QWidget* parent = widget.parentWidget();
    constexpr const char* inner[] = {"QComboBoxListView",  "QComboBoxPrivateContainer", "QDockWidgetTitleButton",
                                     "QHeaderView",        "QLineEditIconButton",       "QScrollBar",
                                     "QTableCornerButton", "QToolBarExtension"};
    return widget.objectName().startsWith(QLatin1String("qt_")) || qobject_cast<const QAbstractSpinBox*>(parent) ||
           qobject_cast<const QComboBox*>(parent) ||
           std::any_of(std::begin(inner), std::end(inner), [&](const char* name) { return widget.inherits(name); });
}

// Describes the interactive widgets below `root` that have no accessible name.
inline QStringList nameless(const QWidget& root)
{
    QStringList found;
    for (QWidget* widget : root.findChildren<QWidget*>()) {
        const bool is_interactive =
            widget->focusPolicy() != Qt::NoFocus || qobject_cast<const QAbstractButton*>(widget);
        const bool is_label = qobject_cast<const QLabel*>(widget); // a label's text is its name
        if (!is_interactive || is_label || is_inner_part(*widget)) continue;
        QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(widget);
        if (!accessible || accessible->text(QAccessible::Name).trimmed().isEmpty() ||
            accessible->role() == QAccessible::NoRole)
            found << QString::fromLatin1(widget->metaObject()->className()) + QLatin1Char(' ') +
                         widget->objectName();
    }
    return found;
}

} // namespace palimpsest::ui::test
