// Item delegate with a title and a smaller line of detail below it.
#pragma once

#include <QStyledItemDelegate>

namespace palimpsest::ui {

QFont detail_font(const QFont& font); // of the line of detail

class TwoLineDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    // `detail_role`: of the model, for the second line.
    explicit TwoLineDelegate(int detail_role, QObject* parent = nullptr)
        : QStyledItemDelegate(parent), detail_role_(detail_role)
    {
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const override;

private:
    int detail_role_;
};

} // namespace palimpsest::ui
