// Keyboard and mouse input of the chat view.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "ui/base/quantity.h"
#include "ui/base/visible_text.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/hot_areas.h"
#include "ui/chat/turn_menu.h"

namespace palimpsest::ui {

void ChatView::keyPressEvent(QKeyEvent* event)
{
    const int turn = current_ >= 0 ? current_ : turns_.count() - 1;
    if (event->matches(QKeySequence::Copy)) {
        const QString text = selected_text();
        if (!text.isEmpty())
            copy(text);
        else if (turn >= 0)
            perform(turn, TurnAction::Copy);
        return;
    }
    if (event->matches(QKeySequence::SelectAll) && turn >= 0) return select_turn(turn);
    QScrollBar* bar = verticalScrollBar();
    switch (event->key()) {
    case Qt::Key_Up:
        return move_current(-1);
    case Qt::Key_Down:
        return move_current(1);
    case Qt::Key_Home:
        return current_ >= 0 ? set_current_turn(0) : bar->setValue(0);
    case Qt::Key_End:
        if (!turns_.is_empty()) current_ = turns_.count() - 1;
        return jump_to_end();
    case Qt::Key_PageUp:
        return bar->triggerAction(QAbstractSlider::SliderPageStepSub);
    case Qt::Key_PageDown:
    case Qt::Key_Space:
        return bar->triggerAction(QAbstractSlider::SliderPageStepAdd);
    default:
        break;
    }
    if (turn < 0 || (event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)))
        return QAbstractScrollArea::keyPressEvent(event);
    const bool mirrored = layoutDirection() == Qt::RightToLeft;
    switch (event->key()) {
    case Qt::Key_Left:
        return perform(turn, mirrored ? TurnAction::Later : TurnAction::Earlier);
    case Qt::Key_Right:
        return perform(turn, mirrored ? TurnAction::Earlier : TurnAction::Later);
    case Qt::Key_C:
        return perform(turn, TurnAction::Copy);
    case Qt::Key_M:
        return perform(turn, TurnAction::CopyMarkdown);
    case Qt::Key_R:
        return perform(turn, TurnAction::Regenerate);
    case Qt::Key_E:
        return perform(turn, TurnAction::Branch);
    case Qt::Key_X:
        return perform(turn, TurnAction::ShowSources);
    case Qt::Key_Q:
        return perform(turn, TurnAction::ShowQuote);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Menu: {
        set_current_turn(turn);
        const auto menu = menu_of(turn);
        const QPoint below(layout_.column_left(), std::max(0, turn_rect(turn).top()) + layout_.header_height());
        menu->exec(viewport()->mapToGlobal(below));
        return;
    }
    default:
        if (event->key() >= Qt::Key_1 && event->key() <= Qt::Key_9)
            return open_source(turn, event->key() - Qt::Key_1);
        QAbstractScrollArea::keyPressEvent(event);
    }
}

std::unique_ptr<QMenu> ChatView::menu_of(int turn)
{
    auto menu = std::make_unique<TurnMenu>(
        TurnMenu::Contents{.turns = turns_,
                           .turn = turn,
                           .layout = layout_.layout_of(turn),
                           .has_selection = !selected_text().isEmpty(),
                           .place_name = [this](const StreamRange& range) { return place_name(range); }},
        this);
    connect(menu.get(), &TurnMenu::action_wanted, this, [this, turn](TurnAction action) { perform(turn, action); });
    connect(menu.get(), &TurnMenu::copy_wanted, this, &ChatView::copy);
    connect(menu.get(), &TurnMenu::copy_selection_wanted, this,
            [this](bool markdown) { copy(markdown ? selected_markdown() : selected_text()); });
    connect(menu.get(), &TurnMenu::select_wanted, this, [this, turn] { select_turn(turn); });
    connect(menu.get(), &TurnMenu::lines_wanted, this, [this, turn] { show_all_lines(turn); });
    connect(menu.get(), &TurnMenu::source_wanted, this, [this, turn](int source) { open_source(turn, source); });
    connect(menu.get(), &TurnMenu::link_wanted, this, &ChatView::link_activated);
    return menu;
}

void ChatView::copy(const QString& text)
{
    QGuiApplication::clipboard()->setText(text);
}

ChatLayout::Hit ChatView::hit(QPoint at)
{
    return layout_.hit(at + QPoint(0, verticalScrollBar()->value()));
}

void ChatView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || turns_.is_empty()) return;
    pressed_at_ = event->pos();
    const ChatLayout::Hit found = hit(event->pos());
    current_ = found.cursor.turn;
    selecting_ = !hot_areas().at(event->pos(), current_) && found.spot.button == MessageLayout::Button::None;
    if (!selecting_) return;
    selection_.begin(found.cursor, event->modifiers() & Qt::ShiftModifier);
    viewport()->update();
}

void ChatView::mouseMoveEvent(QMouseEvent* event)
{
    if (turns_.is_empty()) return;
    const ChatLayout::Hit found = hit(event->pos());
    hovered_ = found.cursor.turn;
    viewport()->update();
    const bool hot = hot_areas().at(event->pos(), hovered_) || !found.spot.link.isEmpty() ||
                     found.spot.button != MessageLayout::Button::None;
    viewport()->setCursor(hot ? Qt::PointingHandCursor : found.spot.on_text ? Qt::IBeamCursor : Qt::ArrowCursor);
    if (!selecting_ || !(event->buttons() & Qt::LeftButton)) return;
    selection_.move_to(found.cursor);
    if (event->pos().y() >= 0 && event->pos().y() <= viewport()->height()) return;
    const int line_height = layout_.style().line_height;
    verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                  (event->pos().y() < 0 ? -line_height : line_height));
}

void ChatView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || turns_.is_empty()) return;
    const bool selected = std::exchange(selecting_, false) && !selection_.is_empty();
    if (selected) {
        if (QGuiApplication::clipboard()->supportsSelection())
            QGuiApplication::clipboard()->setText(selected_text(), QClipboard::Selection);
        return;
    }
    if ((event->pos() - pressed_at_).manhattanLength() > QApplication::startDragDistance()) return;
    const ChatLayout::Hit found = hit(event->pos());
    const int turn = found.cursor.turn;
    if (const auto area = hot_areas().at(event->pos(), turn)) {
        if (area->action) perform(turn, *area->action);
        if (area->source >= 0) open_source(turn, area->source);
        return;
    }
    MessageLayout& layout = layout_.layout_of(turn);
    if (found.spot.button == MessageLayout::Button::CopyCode) return copy(layout.code_at(found.spot.place));
    if (found.spot.button == MessageLayout::Button::ShowAll) {
        layout.press(found.spot);
        layout_.adopt_height(turn);
        at_end_ = false;
        return lay_out();
    }
    if (!found.spot.link.isEmpty()) Q_EMIT link_activated(found.spot.link);
}

void ChatView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (turns_.is_empty()) return;
    const ChatLayout::Hit found = hit(event->pos());
    if (!found.spot.on_text) return;
    const TextSelection word = layout_.layout_of(found.cursor.turn).word_at(found.cursor.place);
    selection_.select({found.cursor.turn, word.from}, {found.cursor.turn, word.to});
    viewport()->update();
}

void ChatView::contextMenuEvent(QContextMenuEvent* event)
{
    if (turns_.is_empty()) return;
    const int turn = event->reason() == QContextMenuEvent::Mouse ? hit(event->pos()).cursor.turn
                     : current_ >= 0                             ? current_
                                                                 : turns_.count() - 1;
    const auto menu = menu_of(turn);
    menu->exec(event->globalPos());
}

bool ChatView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::Leave) {
        hovered_ = -1;
        viewport()->update();
    }
    if (event->type() != QEvent::ToolTip || turns_.is_empty()) return QAbstractScrollArea::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = tip_at(help->pos());
    // Addresses and titles are untrusted, so escape them as HTML.
    QToolTip::showText(help->globalPos(),
                       text.isEmpty() ? QString() : QStringLiteral("<qt>%1</qt>").arg(text.toHtmlEscaped()),
                       viewport());
    return true;
}

QString ChatView::tip_at(QPoint at)
{
    const ChatLayout::Hit found = hit(at);
    const auto area = hot_areas().at(at, found.cursor.turn);
    if (!area || area->source < 0)
        return found.spot.link.isEmpty() ? QString() : visible_address(found.spot.link).left(400);
    const Provenance& provenance = *turns_[found.cursor.turn].turn.provenance;
    const Provenance::Source& source = provenance.sources[static_cast<size_t>(area->source)];
    if (provenance.is_from_sources_alone)
        return tr("%1: read again; the answer was written from it").arg(place_name(source.range));
    if (source.read_again)
        return tr("%1: %2 of the answer's attention, read again for it")
            .arg(place_name(source.range), share_text(source.weight));
    return tr("%1: %2 of the answer's attention, %3 of it was still held")
        .arg(place_name(source.range), share_text(source.weight), share_text(source.held));
}

void ChatView::focusInEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusInEvent(event);
    if (current_ < 0 && !turns_.is_empty() && event->reason() != Qt::MouseFocusReason)
        current_ = turns_.count() - 1;
    viewport()->update();
}

void ChatView::focusOutEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace palimpsest::ui
