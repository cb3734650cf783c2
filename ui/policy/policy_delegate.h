// Draws a policy in a list: its name, and below it the sentence that says what it keeps.
#pragma once

#include <QStyledItemDelegate>

namespace palimpsest::ui {

class PolicyDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace palimpsest::ui
