// Keyboard, mouse and wheel input of the document view.
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "ui/document/document_item.h"
#include "ui/document/document_view.h"

namespace palimpsest::ui {

// Handles these keys before the window's shortcuts do; Escape only while there is a selection to clear.
bool DocumentView::event(QEvent* event)
{
    if (event->type() != QEvent::ShortcutOverride) return QAbstractScrollArea::event(event);
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool ends_selection = key->key() == Qt::Key_Escape && selection().first != selection().last;
    if (!ends_selection && !key->matches(QKeySequence::Copy) && !key->matches(QKeySequence::SelectAll))
        return QAbstractScrollArea::event(event);
    event->accept();
    return true;
}

void DocumentView::keyPressEvent(QKeyEvent* event)
{
    if (!source_ || source_->tokens() == 0) return QAbstractScrollArea::keyPressEvent(event);
    if (event->matches(QKeySequence::Copy)) return copy();
    if (event->matches(QKeySequence::SelectAll)) return select({0, source_->tokens()});
    if (event->key() == Qt::Key_Escape && selection().first != selection().last) return set_caret(caret_);
    if (!move_caret(event)) QAbstractScrollArea::keyPressEvent(event);
}

bool DocumentView::move_caret(QKeyEvent* event)
{
    const bool extend = event->modifiers() & Qt::ShiftModifier, far = event->modifiers() & Qt::ControlModifier;
    const DocumentItem* item = visible_item(std::min(caret_, source_->tokens() - 1));
    const bool mirrored = item && item->layout.lineCount() > 0 && item->block.text.isRightToLeft();
    const auto line_end = [&](bool last) {
        if (!item || item->layout.lineCount() == 0 || caret_ >= item->block.range.last) return caret_;
        const QTextLine line = item->line_of(caret_);
        const int end = line.textStart() + line.textLength();
        if (!last) return item->block.token_at(line.textStart());
        const bool wraps = end < static_cast<int>(item->block.text.size());
        return wraps ? item->block.token_at(end - 1) : item->block.range.last - 1;
    };
    const auto step = [&](bool forward) {
        set_caret(forward ? caret_ + 1 : caret_ - std::min<uint64_t>(caret_, 1), extend);
    };
    if (event->key() != Qt::Key_Up && event->key() != Qt::Key_Down) caret_x_.reset();
    switch (event->key()) {
    case Qt::Key_Left:
        step(mirrored);
        return true;
    case Qt::Key_Right:
        step(!mirrored);
        return true;
    case Qt::Key_Up:
        far ? scroll_by(-line_height()) : move_line(-1, extend);
        return true;
    case Qt::Key_Down:
        far ? scroll_by(line_height()) : move_line(1, extend);
        return true;
    case Qt::Key_PageUp:
        move_page(-1, extend);
        return true;
    case Qt::Key_PageDown:
        move_page(1, extend);
        return true;
    case Qt::Key_Space:
        move_page(extend ? -1 : 1, false);
        return true;
    case Qt::Key_Home:
        set_caret(far ? 0 : line_end(false), extend);
        return true;
    case Qt::Key_End:
        set_caret(far ? source_->tokens() : line_end(true), extend);
        return true;
    default:
        return false;
    }
}

void DocumentView::move_line(int lines, bool extend)
{
    const uint64_t token = std::min(caret_, source_->tokens() - 1);
    ensure_visible(token);
    const DocumentItem* item = visible_item(token);
    if (!item) return;
    const QRect rect = rect_of(token);
    if (!caret_x_) caret_x_ = rect.isNull() ? text_left() : rect.left();
    const qreal middle = item->y + item->line_top(token) + line_height() / 2;
    const qreal y = middle + lines * line_height();
    if (y < 0 || y >= viewport()->height()) {
        scroll_by(lines * line_height());
        const DocumentItem* moved = visible_item(token);
        const qreal now = moved ? moved->y + moved->line_top(token) + line_height() / 2 : middle;
        const bool stood = now == middle && y >= 0;
        if (stood) return set_caret(lines > 0 ? source_->tokens() : 0, extend);
        return set_caret(boundary_at({*caret_x_, now + lines * line_height()}), extend);
    }
    const uint64_t to = boundary_at({*caret_x_, y});
    // Skip framing and captions, in which the caret has no position.
    set_caret(to == caret_ ? (lines > 0 ? item->block.range.last
                                        : item->block.range.first - std::min<uint64_t>(item->block.range.first, 1))
                           : to,
              extend);
}

void DocumentView::move_page(int pages, bool extend)
{
    const uint64_t token = std::min(caret_, source_->tokens() - 1);
    const QRect rect = rect_of(token);
    const QPointF at =
        rect.isNull() ? QPointF(text_left(), line_height()) : QPointF(rect.left(), rect.center().y());
    const Place before = place_;
    scroll_by(pages * (viewport()->height() - line_height()));
    const bool stood = before.token == place_.token && before.y == place_.y;
    if (stood && complete_) return set_caret(pages > 0 ? source_->tokens() : 0, extend);
    const uint64_t to = visible_.empty() ? place_.token : boundary_at(at);
    const StreamRange old = selection();
    caret_ = to;
    if (!extend) selection_anchor_ = caret_;
    viewport()->update();
    if (selection() != old) Q_EMIT selection_changed();
    Q_EMIT caret_moved();
}

void DocumentView::wheelEvent(QWheelEvent* event)
{
    if (event->modifiers() & Qt::ControlModifier) return event->ignore(); // the window changes the text size
    const qreal lines = 3.0 * event->angleDelta().y() / 120;
    scroll_by(event->pixelDelta().isNull() ? -lines * line_height() : -event->pixelDelta().y());
    event->accept();
}

void DocumentView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !source_) return QAbstractScrollArea::mousePressEvent(event);
    dragging_ = true;
    drag_position_ = event->pos();
    caret_x_.reset();
    set_caret(boundary_at(event->position()), event->modifiers() & Qt::ShiftModifier);
}

void DocumentView::mouseMoveEvent(QMouseEvent* event)
{
    if (!dragging_) {
        if (const auto token = token_at(event->pos())) Q_EMIT token_pointed(*token);
        return QAbstractScrollArea::mouseMoveEvent(event);
    }
    drag_position_ = event->pos();
    const bool outside = !viewport()->rect().contains(viewport()->rect().left(), drag_position_.y());
    if (outside != drag_timer_.isActive()) outside ? drag_timer_.start() : drag_timer_.stop();
    if (!outside) set_caret(boundary_at(event->position()), true);
}

// While the mouse is held above or below the viewport, scrolls by half its distance from it.
void DocumentView::scroll_while_dragging()
{
    const int above = std::min(0, drag_position_.y());
    const int below = std::max(0, drag_position_.y() - viewport()->height());
    scroll_by((above + below) / 2.0);
    const qreal y = std::clamp<qreal>(drag_position_.y(), 1, viewport()->height() - 2);
    caret_ = boundary_at({static_cast<qreal>(drag_position_.x()), y});
    viewport()->update();
    Q_EMIT selection_changed();
}

void DocumentView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) return QAbstractScrollArea::mouseReleaseEvent(event);
    dragging_ = false;
    drag_timer_.stop();
}

// Selects the paragraph.
void DocumentView::mouseDoubleClickEvent(QMouseEvent* event)
{
    const DocumentItem* item = item_at(event->position().y());
    if (item && event->button() == Qt::LeftButton) select(item->block.range);
}

void DocumentView::contextMenuEvent(QContextMenuEvent* event)
{
    const QRect caret = rect_of(caret_);
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    Q_EMIT menu_wanted(by_key && !caret.isNull() ? viewport()->mapToGlobal(caret.bottomLeft())
                                                 : event->globalPos());
}

void DocumentView::focusInEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void DocumentView::focusOutEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

bool DocumentView::viewportEvent(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto token = token_at(help->pos());
    token ? QToolTip::showText(help->globalPos(), describe(*token), viewport(), rect_of(*token))
          : QToolTip::hideText();
    return true;
}

} // namespace palimpsest::ui
