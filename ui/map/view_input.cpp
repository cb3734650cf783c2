// Mouse and keyboard input of the map.

#include <QApplication>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QScrollBar>
#include <QStyleHints>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/map/map_actions.h"
#include "ui/map/view.h"

namespace palimpsest::ui {
namespace {

constexpr double zoom_of_a_notch = 1.25;
constexpr double zoom_of_a_key = 1.5;
constexpr double degrees_of_a_notch = 120;

} // namespace

// ---- moving the crosshair

void RetentionView::move_to(uint64_t token)
{
    if (!scene_.map || scene_.window.length() == 0) return;
    token = std::min(token, scene_.window.length() - 1);
    const MapRow row = place_ ? place_->row : scene_.rows.at(0);
    const double first = scene_.window.first();
    scene_.window.reveal(token);
    const auto cell = grid().nearest_cell(row, token);
    if (!cell) return;
    placed_by_mouse_ = false;
    set_place(cell);
    if (scene_.window.first() != first) repaint_later();
}

void RetentionView::move_columns(int step)
{
    const MapGrid cells = grid();
    if (place_ && cells.columns().count() > 0) move_to(cells.token_beside(*place_, step));
}

void RetentionView::move_rows(int step)
{
    if (!place_) return;
    const int count = scene_.rows.count();
    const int index = std::clamp(scene_.rows.index_of(place_->row) + step, 0, count - 1);
    placed_by_mouse_ = false;
    set_place(MapCell{scene_.rows.at(index), place_->tokens});
    verticalScrollBar()->setValue(verticalScrollBar()->value() + grid().distance_to_row(index));
}

void RetentionView::activate_token()
{
    if (place_ && scene_.map) Q_EMIT token_activated(facts_of(*scene_.map, *place_).token);
}

void RetentionView::select(uint64_t from, uint64_t to)
{
    scene_.selection = StreamRange{std::min(from, to), std::max(from, to) + 1};
    repaint_later();
}

void RetentionView::extend_selection(int step)
{
    if (!place_) return;
    if (!selection_anchor_) selection_anchor_ = place_->tokens.first;
    move_columns(step);
    select(*selection_anchor_, place_->tokens.first);
    Q_EMIT range_wanted(*scene_.selection);
}

// ---- keys

bool RetentionView::navigate(const QKeyEvent& event)
{
    const bool far = event.modifiers().testFlag(Qt::ControlModifier);
    const bool extends = event.modifiers().testFlag(Qt::ShiftModifier);
    const MapGrid cells = grid();
    const MapLayout& now = cells.layout();
    const int page = std::max(1, static_cast<int>(now.plot.height() / std::max(1.0, now.row_height)));
    const int step = far ? std::max(1, cells.columns().count() / 10) : 1;
    switch (event.key()) {
    case Qt::Key_Left:
        extends ? extend_selection(-step) : move_columns(-step);
        return true;
    case Qt::Key_Right:
        extends ? extend_selection(step) : move_columns(step);
        return true;
    case Qt::Key_Up:
        move_rows(-1);
        return true;
    case Qt::Key_Down:
        move_rows(1);
        return true;
    case Qt::Key_PageUp:
        move_rows(-page);
        return true;
    case Qt::Key_PageDown:
        move_rows(page);
        return true;
    case Qt::Key_Home:
        move_to(0);
        return true;
    case Qt::Key_End:
        move_to(scene_.window.length());
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (place_) set_expanded(place_->row.layer, !scene_.rows.is_expanded(place_->row.layer));
        return true;
    default:
        return false;
    }
}

void RetentionView::keyPressEvent(QKeyEvent* event)
{
    if (!scene_.map || scene_.window.length() == 0) return QAbstractScrollArea::keyPressEvent(event);
    if (event->key() == Qt::Key_Plus || event->key() == Qt::Key_Equal) return zoom(zoom_of_a_key);
    if (event->key() == Qt::Key_Minus) return zoom(1 / zoom_of_a_key);
    if (event->key() == Qt::Key_Escape && (place_ || scene_.selection)) {
        scene_.selection.reset();
        selection_anchor_.reset();
        set_place({});
        return repaint_later();
    }
    if (event->key() == Qt::Key_Escape) return QAbstractScrollArea::keyPressEvent(event);
    if (!place_) set_place(grid().middle_cell());
    if (!event->modifiers().testFlag(Qt::ShiftModifier)) selection_anchor_.reset();
    if (!navigate(*event)) return QAbstractScrollArea::keyPressEvent(event);
    if (!place_) return;
    const auto strip =
        RetentionPainter(font(), palette()).crosshair_strips(scene_, grid().layout(), *place_).second;
    show_tip(viewport()->mapToGlobal(QPoint(static_cast<int>(strip.right()), static_cast<int>(strip.bottom()))));
}

void RetentionView::show_tip(const QPoint& at)
{
    if (place_)
        QToolTip::showText(at, place_text().toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")),
                           viewport());
}

// ---- the mouse

bool RetentionView::event(QEvent* event)
{
    if (event->type() != QEvent::NativeGesture) return QAbstractScrollArea::event(event);
    const auto* const gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() != Qt::ZoomNativeGesture) return false;
    zoom(1 + gesture->value());
    return true;
}

bool RetentionView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* const help = static_cast<QHelpEvent*>(event);
        if (place_ && grid().cell_at(help->pos())) show_tip(help->globalPos());
        return true;
    }
    if (event->type() == QEvent::Leave && placed_by_mouse_) set_place({});
    return QAbstractScrollArea::viewportEvent(event);
}

void RetentionView::wheelEvent(QWheelEvent* event)
{
    const MapLayout now = grid().layout();
    const QPointF at = event->position();
    if (at.x() < now.plot.left()) return QAbstractScrollArea::wheelEvent(event);
    const QPoint turned = event->angleDelta();
    const bool sideways =
        event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turned.x()) > std::abs(turned.y());
    const double notches =
        (std::abs(turned.x()) > std::abs(turned.y()) ? turned.x() : turned.y()) / degrees_of_a_notch;
    if (now.plot.width() <= 0 || scene_.window.length() == 0) return;
    if (sideways) {
        scene_.window.pan(-notches * scene_.window.span() / 10);
    } else {
        const double share = std::clamp((at.x() - now.plot.left()) / now.plot.width(), 0.0, 1.0);
        scene_.window.zoom(std::pow(zoom_of_a_notch, notches),
                           scene_.window.first() + share * scene_.window.span());
    }
    event->accept();
    placed_by_mouse_ = true;
    set_place(grid().cell_at(at));
    repaint_later();
}

void RetentionView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !scene_.map) return;
    const MapLayout now = grid().layout();
    const int row = now.row_at(event->position().y(), scene_.rows.count());
    if (event->position().x() < now.plot.left()) {
        if (row >= 0 && scene_.rows.at(row).is_layer())
            set_expanded(scene_.rows.at(row).layer, !scene_.rows.is_expanded(scene_.rows.at(row).layer));
        return;
    }
    const auto pressed = grid().cell_at(event->position());
    drag_ = Drag{.from = event->position(),
                 .window = scene_.window,
                 .scroll = verticalScrollBar()->value(),
                 .selects_from = {}};
    if (pressed && event->modifiers().testFlag(Qt::ShiftModifier)) drag_->selects_from = pressed->tokens.first;
}

void RetentionView::drag_to(const QPointF& at)
{
    const MapLayout now = grid().layout();
    if (drag_->selects_from) {
        const QPointF inside(std::clamp(at.x(), now.plot.left(), now.plot.right() - 1), now.plot.top());
        if (const auto place = grid().cell_at(inside)) select(*drag_->selects_from, place->tokens.first);
        return;
    }
    viewport()->setCursor(Qt::ClosedHandCursor);
    const QPointF moved = at - drag_->from;
    const uint64_t length = scene_.window.length(); // may have grown during the drag
    scene_.window = drag_->window;
    scene_.window.set_length(length);
    scene_.window.pan(-moved.x() * scene_.window.span() / std::max(1.0, now.plot.width()));
    verticalScrollBar()->setValue(drag_->scroll - static_cast<int>(moved.y()));
    repaint_later();
}

void RetentionView::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (drag_) {
        const double far = (at - drag_->from).manhattanLength();
        if (!drag_->moved && far < QGuiApplication::styleHints()->startDragDistance()) return;
        drag_->moved = true;
        drag_to(at);
    }
    const auto place = grid().cell_at(at);
    if (!place && !placed_by_mouse_) return;
    placed_by_mouse_ = true;
    set_place(place);
}

void RetentionView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !drag_) return;
    const Drag drag = *drag_;
    drag_.reset();
    viewport()->unsetCursor();
    if (drag.moved && drag.selects_from && scene_.selection) Q_EMIT range_wanted(*scene_.selection);
    if (drag.moved) return;
    set_place(grid().cell_at(event->position()));
    placed_by_mouse_ = false; // keeps the crosshair when the mouse leaves the view
    activate_token();
}

void RetentionView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && event->position().x() >= grid().layout().plot.left())
        return reset_zoom();
    mousePressEvent(event);
}

void RetentionView::contextMenuEvent(QContextMenuEvent* event)
{
    actions_->show_menu(event->globalPos(), place_.has_value());
}

} // namespace palimpsest::ui
