// Item delegate with a title and a smaller line of detail below it; a part of the title can be marked.
#pragma once

#include <QStyledItemDelegate>

namespace palimpsest::ui {

// The roles from which the delegate reads an item's data; 0: the model has no such role.
struct TwoLineRoles {
    int detail = 0;
    int first = 0, count = 0; // begin and length of the marked part, in characters of the title
};

class TwoLineDelegate final : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit TwoLineDelegate(const TwoLineRoles& roles, QObject* parent = nullptr)
        : QStyledItemDelegate(parent), roles_(roles)
    {
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const override;

private:
    TwoLineRoles roles_;
};

} // namespace palimpsest::ui
