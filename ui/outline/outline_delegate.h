// Draws a row of the outline: a bar in the shade of what is held of it, the title, and the note below.
#pragma once

#include <QStyledItemDelegate>

#include "ui/document/shading.h"

namespace palimpsest::ui {

class OutlineDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void set_shades(const ShadeColors& colors, const QPalette& palette) { shades_ = ShadeTable(colors, palette); }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    // For the width of option.rect. Lays the note out.
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    // Cheap: from the length of the note.
    int estimated_height(const QStyleOptionViewItem& option, const QModelIndex& index) const;

    int layouts() const { return layouts_; } // notes that were laid out so far, for tests

private:
    ShadeTable shades_;
    mutable int layouts_ = 0;
};

} // namespace palimpsest::ui
