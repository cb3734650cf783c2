// What every panel is held to: it draws in light and dark, at any scale, and whoever cannot see it finds names.
#pragma once

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QPalette>
#include <QStringList>
#include <QTest>
#include <QWidget>

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

// Where PALIMPSEST_PICTURES names a folder, the widget as it looks is kept there, in light and dark.
inline void keep_pictures(QWidget& widget, const QString& name)
{
    const QString folder = qEnvironmentVariable("PALIMPSEST_PICTURES");
    if (folder.isEmpty()) return;
    QDir().mkpath(folder);
    for (const bool dark : {false, true}) {
        QApplication::setPalette(dark ? dark_palette() : light_palette());
        QTest::qWait(100); // the map paints at most 30 times a second
        const QString scale = QString::number(widget.devicePixelRatioF());
        widget.grab().save(QStringLiteral("%1/%2-%3-%4.png").arg(folder, name, dark ? "dark" : "light", scale));
    }
    QApplication::setPalette(light_palette());
}

// Interactive widgets below `root` that assistive tools could not name.
inline QStringList nameless(const QWidget& root)
{
    QStringList found;
    for (const QWidget* w : root.findChildren<QWidget*>()) {
        const bool named_by_text =
            qobject_cast<const QAbstractButton*>(w) && !qobject_cast<const QAbstractButton*>(w)->text().isEmpty();
        const bool inner = w->objectName().startsWith(QLatin1String("qt_")) ||
                           qobject_cast<const QAbstractSpinBox*>(w->parentWidget()) ||
                           qobject_cast<const QComboBox*>(w->parentWidget()) || w->inherits("QHeaderView") ||
                           qobject_cast<const QLabel*>(w) || w->inherits("QScrollBar") ||
                           w->inherits("QTableCornerButton") || w->inherits("QComboBoxPrivateContainer") ||
                           w->inherits("QComboBoxListView");
        if (w->focusPolicy() != Qt::NoFocus && w->isEnabled() && !inner && !named_by_text &&
            w->accessibleName().isEmpty())
            found << QString::fromLatin1(w->metaObject()->className()) + QLatin1Char(' ') + w->objectName();
    }
    return found;
}

} // namespace palimpsest::ui::test
