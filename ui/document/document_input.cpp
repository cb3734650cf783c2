// Keyboard, mouse and wheel input of the document view.
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "ui/document/document_view.h"

namespace palimpsest::ui {

// Claims the keys of the view before they trigger shortcuts of the window; Escape only while text is selected.
bool DocumentView::event(QEvent* event)
{
    if (event->type() != QEvent::ShortcutOverride) return QAbstractScrollArea::event(event);
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool ends_selection = key->key() == Qt::Key_Escape && caret_.has_selection();
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
    if (event->key() == Qt::Key_Escape && caret_.has_selection()) return set_caret(caret());
    if (!move_caret(event)) QAbstractScrollArea::keyPressEvent(event);
}

uint64_t DocumentView::boundary_at(QPointF position) const
{
    return layout_.boundary_at(position).value_or(caret());
}

bool DocumentView::move_caret(QKeyEvent* event)
{
    const bool extend = event->modifiers() & Qt::ShiftModifier, far = event->modifiers() & Qt::ControlModifier;
    const DocumentItem* item = layout_.item_of(std::min(caret(), source_->tokens() - 1));
    const bool mirrored = item && item->layout.lineCount() > 0 && item->block.text.isRightToLeft();
    const auto step = [&](bool forward) {
        set_caret(forward ? caret() + 1 : caret() - std::min<uint64_t>(caret(), 1), extend);
    };
    if (event->key() != Qt::Key_Up && event->key() != Qt::Key_Down) caret_.forget_x();
    switch (event->key()) {
    case Qt::Key_Left:
        step(mirrored);
        return true;
    case Qt::Key_Right:
        step(!mirrored);
        return true;
    case Qt::Key_Up:
        far ? scroll_by(-layout_.column().line_height()) : move_line(-1, extend);
        return true;
    case Qt::Key_Down:
        far ? scroll_by(layout_.column().line_height()) : move_line(1, extend);
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
        set_caret(far ? 0 : layout_.line_start(caret()).value_or(caret()), extend);
        return true;
    case Qt::Key_End:
        set_caret(far ? source_->tokens() : layout_.line_end(caret()).value_or(caret()), extend);
        return true;
    default:
        return false;
    }
}

void DocumentView::move_line(int lines, bool extend)
{
    const uint64_t token = std::min(caret(), source_->tokens() - 1);
    ensure_visible(token);
    const DocumentItem* item = layout_.item_of(token);
    if (!item) return;
    const qreal line_height = layout_.column().line_height();
    const QRect rect = layout_.rect_of(token);
    const qreal x = caret_.line_x(rect.isNull() ? layout_.column().left() : rect.left());
    const auto middle_of = [&](const DocumentItem& at) { return at.y + at.line_top(token) + line_height / 2; };
    const qreal middle = middle_of(*item), y = middle + lines * line_height;
    if (y < 0 || y >= viewport()->height()) {
        scroll_by(lines * line_height);
        const DocumentItem* moved = layout_.item_of(token);
        const qreal now = moved ? middle_of(*moved) : middle;
        const bool stood = now == middle && y >= 0;
        if (stood) return set_caret(lines > 0 ? source_->tokens() : 0, extend);
        return set_caret(boundary_at({x, now + lines * line_height}), extend);
    }
    const uint64_t to = boundary_at({x, y});
    // Skip framing and captions, in which the caret has no position.
    const StreamRange block = item->block.range;
    const uint64_t beyond = lines > 0 ? block.last : block.first - std::min<uint64_t>(block.first, 1);
    set_caret(to == caret() ? beyond : to, extend);
}

void DocumentView::move_page(int pages, bool extend)
{
    const qreal line_height = layout_.column().line_height();
    const QRect rect = layout_.rect_of(std::min(caret(), source_->tokens() - 1));
    const QPointF at =
        rect.isNull() ? QPointF(layout_.column().left(), line_height) : QPointF(rect.left(), rect.center().y());
    const DocumentLayout::Place before = layout_.place();
    scroll_by(pages * (viewport()->height() - line_height));
    if (layout_.place() == before && layout_.is_complete())
        return set_caret(pages > 0 ? source_->tokens() : 0, extend);
    const StreamRange old = selection();
    caret_.move_to(layout_.boundary_at(at).value_or(layout_.place().token), extend);
    viewport()->update();
    if (selection() != old) Q_EMIT selection_changed();
    Q_EMIT caret_moved();
}

void DocumentView::wheelEvent(QWheelEvent* event)
{
    if (event->modifiers() & Qt::ControlModifier) return event->ignore(); // the window changes the text size
    const qreal lines = 3.0 * event->angleDelta().y() / 120;
    scroll_by(event->pixelDelta().isNull() ? -lines * layout_.column().line_height() : -event->pixelDelta().y());
    event->accept();
}

void DocumentView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !source_) return QAbstractScrollArea::mousePressEvent(event);
    drag_.begin(event->pos());
    caret_.forget_x();
    set_caret(boundary_at(event->position()), event->modifiers() & Qt::ShiftModifier);
}

void DocumentView::mouseMoveEvent(QMouseEvent* event)
{
    if (drag_.is_active()) {
        if (drag_.move_to(event->pos(), viewport()->height())) set_caret(boundary_at(event->position()), true);
        return;
    }
    if (const auto token = layout_.token_at(event->pos())) Q_EMIT token_pointed(*token);
    QAbstractScrollArea::mouseMoveEvent(event);
}

void DocumentView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) return QAbstractScrollArea::mouseReleaseEvent(event);
    drag_.end();
}

// Selects the paragraph.
void DocumentView::mouseDoubleClickEvent(QMouseEvent* event)
{
    const DocumentItem* item = layout_.item_at(event->position().y());
    if (item && event->button() == Qt::LeftButton) select(item->block.range);
}

void DocumentView::contextMenuEvent(QContextMenuEvent* event)
{
    const QRect at = layout_.rect_of(caret());
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    Q_EMIT menu_wanted(by_key && !at.isNull() ? viewport()->mapToGlobal(at.bottomLeft()) : event->globalPos());
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
    const auto token = layout_.token_at(help->pos());
    token ? QToolTip::showText(help->globalPos(), describe(*token), viewport(), layout_.rect_of(*token))
          : QToolTip::hideText();
    return true;
}

} // namespace palimpsest::ui
