// Keyboard and mouse input and the context menu of the chat view.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "ui/chat/chat_entry.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/visible_text.h"

namespace palimpsest::ui {

void ChatView::keyPressEvent(QKeyEvent* event)
{
    const int turn = current_ >= 0 ? current_ : turn_count() - 1;
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
        if (!entries_.empty()) current_ = turn_count() - 1;
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
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Menu: {
        set_current_turn(turn);
        const auto menu = menu_of(turn);
        menu->exec(
            viewport()->mapToGlobal(QPoint(column_left(), std::max(0, turn_rect(turn).top()) + header_height())));
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
    static constexpr std::pair<TurnAction, int> keys[] = {
        {TurnAction::Earlier, Qt::Key_Left},   {TurnAction::Later, Qt::Key_Right},  {TurnAction::Copy, Qt::Key_C},
        {TurnAction::CopyMarkdown, Qt::Key_M}, {TurnAction::Regenerate, Qt::Key_R}, {TurnAction::Branch, Qt::Key_E},
        {TurnAction::ShowSources, Qt::Key_X},
    };
    auto menu = std::make_unique<QMenu>(this);
    menu->setAccessibleName(tr("What can be done with this turn"));
    ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
    if (!selected_text().isEmpty()) {
        menu->addAction(tr("Copy selected text"), QKeySequence::Copy, this, [this] { copy(selected_text()); });
        menu->addAction(tr("Copy selected lines as Markdown"), this, [this] { copy(selected_markdown()); });
        menu->addSeparator();
    }
    for (const TurnAction action : actions(turn)) {
        QAction* item =
            menu->addAction(action_label(turn, action), this, [this, turn, action] { perform(turn, action); });
        for (const auto& [known, key] : keys)
            if (known == action) item->setShortcut(QKeySequence(key));
    }
    menu->addAction(tr("Select all of it"), QKeySequence::SelectAll, this, [this, turn] { select_turn(turn); });
    MessageLayout& layout = layout_of(entry);
    const std::vector<TextPosition> codes = layout.code_places();
    for (size_t i = 0; i < codes.size() && i < sources_shown; ++i)
        menu->addAction(tr("Copy code block %1").arg(i + 1), this,
                        [this, text = layout.code_at(codes[i])] { copy(text); });
    if (const std::vector<TextPosition> more = layout.collapsed_places(); !more.empty())
        menu->addAction(tr("Show all lines"), this, [this, turn] {
            if (turn >= turn_count()) return; // it was removed while the menu was open
            ChatEntry& shown = *entries_[static_cast<size_t>(turn)];
            for (const TextPosition& place : layout_of(shown).collapsed_places())
                shown.layout->press({place, {}, MessageLayout::Button::ShowAll, false});
            shown.body = shown.layout->height();
            update_tops(static_cast<size_t>(turn));
            lay_out();
        });
    if (entry.turn.provenance && !entry.turn.provenance->sources.empty() && !entry.growing) {
        QMenu* sources = menu->addMenu(tr("Sources"));
        for (size_t s = 0; s < std::min(sources_shown, entry.turn.provenance->sources.size()); ++s) {
            QAction* item = sources->addAction(place_name(entry.turn.provenance->sources[s].range), this,
                                               [this, turn, s] { open_source(turn, static_cast<int>(s)); });
            item->setShortcut(QKeySequence(Qt::Key_1 + static_cast<int>(s)));
        }
    }
    if (const QStringList links = layout.links(); !links.isEmpty()) {
        QMenu* list = menu->addMenu(tr("Links"));
        for (qsizetype i = 0; i < std::min<qsizetype>(links.size(), 20); ++i)
            list->addAction(visible_address(links[i]).left(80).replace(QLatin1Char('&'), QStringLiteral("&&")),
                            this, [this, address = links[i]] { Q_EMIT link_activated(address); });
    }
    return menu;
}

void ChatView::press_area(int entry, const HotArea& area)
{
    if (area.action) perform(entry, *area.action);
    if (area.source >= 0) open_source(entry, area.source);
}

void ChatView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || entries_.empty()) return;
    pressed_at_ = event->pos();
    const Found found = find(event->pos());
    current_ = found.cursor.entry;
    if (hot_area_at(hot_areas(current_), event->pos()) || found.spot.button != MessageLayout::Button::None) {
        selecting_ = false;
        return;
    }
    selecting_ = true;
    caret_ = found.cursor;
    if (!(event->modifiers() & Qt::ShiftModifier) || anchor_.entry < 0) anchor_ = caret_;
    viewport()->update();
}

void ChatView::mouseMoveEvent(QMouseEvent* event)
{
    if (entries_.empty()) return;
    const Found found = find(event->pos());
    set_hovered(found.cursor.entry);
    const bool hot = hot_area_at(hot_areas(found.cursor.entry), event->pos()) || !found.spot.link.isEmpty() ||
                     found.spot.button != MessageLayout::Button::None;
    viewport()->setCursor(hot ? Qt::PointingHandCursor : found.spot.on_text ? Qt::IBeamCursor : Qt::ArrowCursor);
    if (!selecting_ || !(event->buttons() & Qt::LeftButton)) return;
    caret_ = found.cursor;
    if (event->pos().y() < 0 || event->pos().y() > viewport()->height())
        verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                      (event->pos().y() < 0 ? -style_.line_height : style_.line_height));
    viewport()->update();
}

void ChatView::set_hovered(int entry)
{
    hovered_ = entry;
    viewport()->update();
}

void ChatView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || entries_.empty()) return;
    if (selecting_ && anchor_ != caret_) {
        selecting_ = false;
        if (QGuiApplication::clipboard()->supportsSelection())
            QGuiApplication::clipboard()->setText(selected_text(), QClipboard::Selection);
        return;
    }
    selecting_ = false;
    if ((event->pos() - pressed_at_).manhattanLength() > QApplication::startDragDistance()) return;
    const Found found = find(event->pos());
    const std::vector<HotArea> areas = hot_areas(found.cursor.entry);
    if (const HotArea* area = hot_area_at(areas, event->pos())) return press_area(found.cursor.entry, *area);
    ChatEntry& entry = *entries_[static_cast<size_t>(found.cursor.entry)];
    if (found.spot.button == MessageLayout::Button::CopyCode) return copy(entry.layout->code_at(found.spot.place));
    if (found.spot.button == MessageLayout::Button::ShowAll) {
        entry.layout->press(found.spot);
        entry.body = entry.layout->height();
        update_tops(static_cast<size_t>(found.cursor.entry));
        at_end_ = false;
        return lay_out();
    }
    if (!found.spot.link.isEmpty()) Q_EMIT link_activated(found.spot.link);
}

void ChatView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (entries_.empty()) return;
    const Found found = find(event->pos());
    if (!found.spot.on_text) return;
    const TextSelection word =
        entries_[static_cast<size_t>(found.cursor.entry)]->layout->word_at(found.cursor.place);
    anchor_ = {found.cursor.entry, word.from};
    caret_ = {found.cursor.entry, word.to};
    viewport()->update();
}

void ChatView::contextMenuEvent(QContextMenuEvent* event)
{
    if (entries_.empty()) return;
    const int turn = event->reason() == QContextMenuEvent::Mouse ? find(event->pos()).cursor.entry
                     : current_ >= 0                             ? current_
                                                                 : turn_count() - 1;
    const auto menu = menu_of(turn);
    menu->exec(event->globalPos());
}

bool ChatView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::Leave) {
        hovered_ = -1;
        viewport()->update();
    }
    if (event->type() == QEvent::ToolTip && !entries_.empty()) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const Found found = find(help->pos());
        const std::vector<HotArea> areas = hot_areas(found.cursor.entry);
        const HotArea* area = hot_area_at(areas, help->pos());
        QString text = found.spot.link.isEmpty() ? QString() : visible_address(found.spot.link).left(400);
        if (area && area->source >= 0)
            text = source_note(entries_[static_cast<size_t>(found.cursor.entry)]
                                   ->turn.provenance->sources[static_cast<size_t>(area->source)]);
        // Addresses and titles are untrusted, so escape them as HTML.
        QToolTip::showText(
            help->globalPos(),
            text.isEmpty() ? QString()
                           : text.toHtmlEscaped().prepend(QStringLiteral("<qt>")).append(QStringLiteral("</qt>")),
            viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void ChatView::focusInEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusInEvent(event);
    if (current_ < 0 && !entries_.empty() && event->reason() != Qt::MouseFocusReason) current_ = turn_count() - 1;
    viewport()->update();
}

void ChatView::focusOutEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace palimpsest::ui
