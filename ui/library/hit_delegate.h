// Item delegate of the found texts: where a text is from, and a snippet of it on up to three lines, with the found
// words in bold and underlined type, because not everyone can tell colours apart.
#pragma once

#include <QStyledItemDelegate>

namespace palimpsest::ui {

class HitDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override; // the same for all
};

} // namespace palimpsest::ui
