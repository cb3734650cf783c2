#include "ui/outline/outline_view.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <numeric>

namespace palimpsest::ui {

OutlineView::OutlineView(OutlineModel& model, QWidget* parent)
    : QListView(parent), model_(model), delegate_(new OutlineDelegate(this))
{
    setAccessibleName(tr("Sections and their notes"));
    setFrameShape(QFrame::NoFrame);
    setSelectionMode(ExtendedSelection);
    setEditTriggers(NoEditTriggers);
    setVerticalScrollMode(ScrollPerPixel);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(
        Qt::ScrollBarAlwaysOn); // so that the width of the notes never depends on their height
    setItemDelegate(delegate_);
    delegate_->set_shades(default_shades(palette()), palette());
    setModel(&model_);
    connect(&model_, &OutlineModel::held_changed, viewport(), qOverload<>(&QWidget::update));
    connect(this, &QListView::clicked, this, [this](const QModelIndex& index) {
        if (QGuiApplication::keyboardModifiers() == Qt::NoModifier) go_to(index);
    });
}

// ---- heights

QStyleOptionViewItem OutlineView::row_option() const
{
    QStyleOptionViewItem option;
    initViewItemOption(&option);
    option.rect = QRect(0, 0, viewport()->width(), 0);
    return option;
}

int OutlineView::estimate(int row) const
{
    return delegate_->estimated_height(row_option(), model_.index(row));
}

// Returns what should stay in its place: the first visible row whose height is known.
OutlineView::Anchor OutlineView::anchor() const
{
    if (heights_.rows() == 0) return {};
    const int offset = verticalOffset(), end = offset + viewport()->height();
    const int first = heights_.row_at(offset);
    int row = first;
    while (row < heights_.rows() && heights_.top(row) < end && !heights_.is_measured(row))
        ++row;
    if (row == heights_.rows() || !heights_.is_measured(row)) row = first;
    return {.row = row,
            .y = heights_.top(row) - offset,
            .at_end = offset > 0 && offset == verticalScrollBar()->maximum()};
}

// Measures the rows that are visible with the anchor in its place, and scrolls there.
void OutlineView::settle(const Anchor& anchor)
{
    if (settling_) return;
    settling_ = true;
    const int height = viewport()->height();
    int offset = 0, longest = 0;
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        longest = std::max(0, heights_.top(heights_.rows()) - height);
        const int wanted = heights_.rows() == 0 ? 0 : heights_.top(anchor.row) - anchor.y;
        offset = anchor.at_end ? longest : std::clamp(wanted, 0, longest);
        const QStyleOptionViewItem option = row_option();
        const int first = heights_.rows() == 0 ? 0 : heights_.row_at(offset);
        for (int row = first; row < heights_.rows() && heights_.top(row) < offset + height; ++row) {
            if (heights_.is_measured(row)) continue;
            heights_.set(row, delegate_->sizeHint(option, model_.index(row)).height());
            is_changed = true;
        }
    }
    QScrollBar* bar = verticalScrollBar();
    bar->setPageStep(height);
    bar->setSingleStep(fontMetrics().lineSpacing());
    bar->setRange(0, longest);
    bar->setValue(offset);
    settling_ = false;
    viewport()->update();
}

// After a change of width or font. The first visible row stays at the top.
void OutlineView::measure_all_again()
{
    Anchor first;
    if (heights_.rows() > 0 && heights_.rows() == model_.rowCount()) {
        first.row = heights_.row_at(verticalOffset());
        first.y = heights_.top(first.row) - verticalOffset();
    }
    heights_.reset(model_.rowCount(), [this](int row) { return estimate(row); });
    settle(first);
}

void OutlineView::doItemsLayout()
{
    measure_all_again();
    QAbstractItemView::doItemsLayout();
}

void OutlineView::updateGeometries()
{
    QAbstractItemView::updateGeometries();
    if (heights_.rows() == model_.rowCount()) settle(anchor());
}

void OutlineView::dataChanged(const QModelIndex& first, const QModelIndex& last, const QList<int>& roles)
{
    if (heights_.rows() == model_.rowCount()) {
        const Anchor before = anchor();
        for (int row = first.row(); row <= last.row(); ++row)
            heights_.forget(row, estimate(row));
        settle(before);
    }
    QAbstractItemView::dataChanged(first, last, roles);
}

void OutlineView::scrollContentsBy(int /*dx*/, int /*dy*/)
{
    if (!settling_) settle(anchor());
}

void OutlineView::resizeEvent(QResizeEvent* event)
{
    QAbstractItemView::resizeEvent(event);
    if (event->size().width() != event->oldSize().width())
        measure_all_again();
    else
        settle(anchor());
}

void OutlineView::changeEvent(QEvent* event)
{
    QListView::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) measure_all_again();
}

// ---- places

int OutlineView::verticalOffset() const
{
    return verticalScrollBar()->value();
}

QRect OutlineView::visualRect(const QModelIndex& index) const
{
    if (!index.isValid() || index.row() >= heights_.rows()) return {};
    return {0, heights_.top(index.row()) - verticalOffset(), viewport()->width(), heights_.height(index.row())};
}

QModelIndex OutlineView::indexAt(const QPoint& point) const
{
    const int y = point.y() + verticalOffset();
    if (heights_.rows() == 0 || heights_.rows() != model_.rowCount() || y < 0) return {};
    if (y >= heights_.top(heights_.rows())) return {};
    return model_.index(heights_.row_at(y));
}

void OutlineView::scrollTo(const QModelIndex& index, ScrollHint hint)
{
    executeDelayedItemsLayout();
    if (!index.isValid() || index.row() >= heights_.rows()) return;
    if (!heights_.is_measured(index.row()))
        heights_.set(index.row(), delegate_->sizeHint(row_option(), index).height());
    const QRect rect = visualRect(index);
    const int space = viewport()->height() - rect.height();
    Anchor to{.row = index.row(), .y = rect.top()};
    if (hint == PositionAtTop)
        to.y = 0;
    else if (hint == PositionAtBottom)
        to.y = space;
    else if (hint == PositionAtCenter)
        to.y = space / 2;
    else if (rect.top() < 0 || space < 0)
        to.y = 0;
    else if (rect.top() > space)
        to.y = space;
    else
        return;
    settle(to);
}

QModelIndex OutlineView::moveCursor(CursorAction action, Qt::KeyboardModifiers /*held*/)
{
    executeDelayedItemsLayout();
    const int rows = heights_.rows();
    if (rows == 0) return {};
    const QModelIndex now = currentIndex();
    if (!now.isValid()) return model_.index(0);
    const int page = std::max(1, viewport()->height() - fontMetrics().lineSpacing());
    const int top = heights_.top(now.row());
    int row = now.row();
    switch (action) {
    case MoveUp:
    case MovePrevious:
        --row;
        break;
    case MoveDown:
    case MoveNext:
        ++row;
        break;
    case MovePageUp:
        row = std::min(row - 1, heights_.row_at(std::max(0, top - page)));
        break;
    case MovePageDown:
        row = std::max(row + 1, heights_.row_at(top + page));
        break;
    case MoveHome:
        row = 0;
        break;
    case MoveEnd:
        row = rows - 1;
        break;
    case MoveLeft:
    case MoveRight:
        break;
    }
    return model_.index(std::clamp(row, 0, rows - 1));
}

void OutlineView::setSelection(const QRect& rect, QItemSelectionModel::SelectionFlags how)
{
    if (heights_.rows() == 0) return;
    const QRect all = rect.normalized().translated(0, verticalOffset());
    const int first = heights_.row_at(all.top()), last = heights_.row_at(all.bottom());
    selectionModel()->select(QItemSelection(model_.index(first), model_.index(last)), how);
}

QRegion OutlineView::visualRegionForSelection(const QItemSelection& selection) const
{
    QRegion region;
    for (const QItemSelectionRange& range : selection)
        region += visualRect(range.topLeft()).united(visualRect(range.bottomRight()));
    return region.intersected(viewport()->rect());
}

// ---- drawing

void OutlineView::paintEvent(QPaintEvent* event)
{
    executeDelayedItemsLayout();
    if (heights_.rows() == 0) return;
    QPainter painter(viewport());
    QStyleOptionViewItem option = row_option();
    const QStyle::State usual = option.state;
    const int end = event->rect().bottom() + 1 + verticalOffset();
    for (int row = heights_.row_at(event->rect().top() + verticalOffset());
         row < heights_.rows() && heights_.top(row) < end; ++row) {
        const QModelIndex index = model_.index(row);
        option.rect = visualRect(index);
        option.state = usual;
        option.state.setFlag(QStyle::State_Selected, selectionModel()->isSelected(index));
        option.state.setFlag(QStyle::State_HasFocus, hasFocus() && index == currentIndex());
        delegate_->paint(&painter, option, index);
    }
}

// ---- actions

void OutlineView::go_to(const QModelIndex& index)
{
    if (index.isValid()) Q_EMIT place_wanted(model_.row(index.row()).range);
}

void OutlineView::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return go_to(currentIndex());
    if (event->matches(QKeySequence::Copy)) return copy();
    QListView::keyPressEvent(event);
}

void OutlineView::contextMenuEvent(QContextMenuEvent* event)
{
    // Persistent: rows may go while the menu is open.
    const QPersistentModelIndex at =
        event->reason() == QContextMenuEvent::Mouse ? indexAt(event->pos()) : currentIndex();
    QMenu menu(this);
    QAction* go = menu.addAction(tr("&Go to this place"), this, [this, at] { go_to(at); });
    go->setEnabled(at.isValid());
    menu.addSeparator();
    menu.addAction(tr("&Copy"), this, &OutlineView::copy)->setEnabled(selectionModel()->hasSelection());
    menu.addAction(tr("Copy &all"), this, &OutlineView::copy_all)->setEnabled(model_.rowCount() > 0);
    menu.exec(event->globalPos());
}

QString OutlineView::text_of(QList<int> rows) const
{
    std::ranges::sort(rows);
    QStringList texts;
    for (const int row : rows)
        texts << model_.text_of_row(row);
    return texts.join(QStringLiteral("\n\n"));
}

QString OutlineView::selected_text() const
{
    QList<int> rows;
    for (const QModelIndex& index : selectionModel()->selectedIndexes())
        rows << index.row();
    return text_of(std::move(rows));
}

QString OutlineView::whole_text() const
{
    QList<int> rows(model_.rowCount());
    std::iota(rows.begin(), rows.end(), 0);
    return text_of(std::move(rows));
}

void OutlineView::copy()
{
    if (selectionModel()->hasSelection()) QGuiApplication::clipboard()->setText(selected_text());
}

void OutlineView::copy_all()
{
    if (model_.rowCount() > 0) QGuiApplication::clipboard()->setText(whole_text());
}

} // namespace palimpsest::ui
