// The list of the outline. Only rows that come into view are laid out; the height of the others is estimated, and
// what is seen stays in its place when an estimate turns out wrong.
//
// A QListView, for its selection, keys and accessibility; placing and drawing the rows is its own.
#pragma once

#include <QListView>

#include "ui/outline/outline_delegate.h"
#include "ui/outline/outline_model.h"
#include "ui/outline/row_heights.h"

namespace palimpsest::ui {

class OutlineView : public QListView {
    Q_OBJECT
public:
    OutlineView(OutlineModel& model, QWidget* parent);

    OutlineDelegate& delegate() { return *delegate_; }
    const RowHeights& heights() const { return heights_; }
    QString selected_text() const; // rows in order, an empty line between them
    QString whole_text() const;

    QRect visualRect(const QModelIndex& index) const override;
    QModelIndex indexAt(const QPoint& point) const override;
    void scrollTo(const QModelIndex& index, ScrollHint hint = EnsureVisible) override;
    void doItemsLayout() override;

public Q_SLOTS:
    void copy();
    void copy_all();

Q_SIGNALS:
    void place_wanted(palimpsest::ui::StreamRange range);

protected:
    QModelIndex moveCursor(CursorAction action, Qt::KeyboardModifiers held) override;
    int horizontalOffset() const override { return 0; }
    int verticalOffset() const override;
    void setSelection(const QRect& rect, QItemSelectionModel::SelectionFlags how) override;
    QRegion visualRegionForSelection(const QItemSelection& selection) const override;
    void dataChanged(const QModelIndex& first, const QModelIndex& last, const QList<int>& roles) override;
    void updateGeometries() override;
    void scrollContentsBy(int dx, int dy) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Anchor {
        int row = 0;
        int y = 0;           // of its top, in the viewport
        bool at_end = false; // the end of the list stays at the bottom
    };

    QStyleOptionViewItem row_option() const;
    int estimate(int row) const;
    Anchor anchor() const;
    void settle(const Anchor& anchor);
    void measure_all_again();
    void go_to(const QModelIndex& index);
    QString text_of(QList<int> rows) const;

    OutlineModel& model_;
    OutlineDelegate* delegate_;
    RowHeights heights_;
    bool settling_ = false;
};

} // namespace palimpsest::ui
