#include "ui/chat/chat_view.h"

#include <QAccessible>
#include <QApplication>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>
#include <algorithm>

#include "ui/base/quantity.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_painter.h"
#include "ui/chat/jump_button.h"

namespace palimpsest::ui {
namespace {

constexpr int slice_ms = 15;    // longest layout work before the event loop goes on
constexpr int screens_kept = 3; // viewport heights above and below the view in which layouts are kept

} // namespace

ChatView::ChatView(QWidget* parent)
    : QAbstractScrollArea(parent), blink_(QApplication::cursorFlashTime() <= 0), jump_(new JumpButton(viewport()))
{
    install_accessibility();
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Chat"));
    viewport()->setMouseTracking(true);
    connect(jump_, &QToolButton::clicked, this, [this] {
        jump_to_end();
        setFocus();
    });
    later_.setSingleShot(true);
    later_.setInterval(0);
    connect(&later_, &QTimer::timeout, this, &ChatView::lay_out);
    connect(&blink_, &CursorBlink::changed, viewport(), [this] { viewport()->update(); });
    restyle();
    setViewportMargins(0, fontMetrics().height() / 2, 0, 0);
    setBackgroundRole(QPalette::Base); // the margin above the viewport has the colour of the text's background
    setAutoFillBackground(true);
}

ChatView::~ChatView() = default;

// ---- contents

void ChatView::set_turns(const std::vector<Turn>& turns)
{
    blink_.stop();
    if (turns_.set(turns)) selection_.clear();
    current_ = std::min(current_, turns_.count() - 1);
    hovered_ = -1;
    lay_out_from(0);
    turns_replaced();
}

void ChatView::begin_answer(const QString& question)
{
    turns_.begin_answer(question);
    blink_.start();
    lay_out_from(std::max(0, turns_.count() - 2));
    turns_replaced();
}

void ChatView::turns_replaced()
{
    QAccessibleEvent event(this, QAccessible::ObjectReorder);
    QAccessible::updateAccessibility(&event);
    Q_EMIT turns_changed();
}

void ChatView::grow_answer(const QString& answer)
{
    const int last = turns_.count() - 1;
    if (!turns_.is_answering() || turns_[last].turn.text == answer) return;
    ChatEntry& entry = turns_[last];
    entry.turn.text = answer;
    if (entry.layout && entry.is_newest()) {
        entry.layout->set_text(answer, entry.format());
        layout_.adopt_height(last);
    }
    lay_out();
}

void ChatView::end_answer(const Turn& answer)
{
    if (!turns_.is_answering()) return;
    grow_answer(answer.text);
    turns_.end_answer(answer);
    blink_.stop();
    lay_out_from(turns_.count() - 1);
    announce(turns_.count() - 1);
    Q_EMIT turns_changed();
}

void ChatView::abandon_answer()
{
    if (turns_.is_answering()) set_turns(turns_.before_answer());
}

void ChatView::set_place_name(std::function<QString(StreamRange)> name)
{
    place_name_ = std::move(name);
}

QString ChatView::place_name(const StreamRange& range) const
{
    if (place_name_) return place_name_(range);
    return tr("tokens %1 to %2").arg(count_text(range.first), count_text(range.last));
}

void ChatView::set_reduced_motion(bool reduced)
{
    blink_.set_reduced_motion(reduced);
}

void ChatView::announce(int turn)
{
    // Qt 6.4 has no announcement events; screen readers speak an alert on the turn instead.
    QAccessibleEvent event(this, QAccessible::Alert);
    event.setChild(turn);
    QAccessible::updateAccessibility(&event);
    Q_EMIT announced(turn);
}

// ---- layout

void ChatView::restyle()
{
    layout_.set_viewport(viewport()->size());
    layout_.restyle(font(), palette());
    verticalScrollBar()->setSingleStep(layout_.style().line_height);
    lay_out();
}

// Updates the layout after this turn, or turns from it on, have changed.
void ChatView::lay_out_from(int turn)
{
    layout_.set_viewport(viewport()->size());
    layout_.update_from(turn);
    lay_out();
}

void ChatView::update_range()
{
    const int height = viewport()->height();
    QScrollBar* bar = verticalScrollBar();
    bar->setPageStep(height);
    bar->setRange(0, std::max(0, layout_.height() + layout_.style().padding - height));
}

// Lays out the turns in view for at most slice_ms; the event loop calls it again for the rest.
void ChatView::lay_out()
{
    if (laying_out_) return;
    laying_out_ = true;
    layout_.set_viewport(viewport()->size());
    const QDeadlineTimer until(slice_ms);
    QScrollBar* bar = verticalScrollBar();
    update_range();
    if (bar->maximum() == 0) at_end_ = true;
    const int height = viewport()->height();
    bool done = false;
    for (int round = 0; round < 8 && !done; ++round) {
        if (at_end_) bar->setValue(bar->maximum());
        const int top = bar->value();
        const ChatLayout::Progress progress = layout_.lay_out(top, top + height, until);
        update_range();
        if (!at_end_) bar->setValue(top + progress.moved);
        done = progress.done && (at_end_ ? bar->maximum() == top : progress.moved == 0);
        if (until.hasExpired()) break;
    }
    if (at_end_) bar->setValue(bar->maximum());
    layout_.forget_far(bar->value(), bar->value() + height, screens_kept * height);
    laying_out_ = false;
    if (!done) later_.start();
    at_end_ ? jump_->hide() : jump_->show_above(layout_.style().padding);
    viewport()->update();
}

void ChatView::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    if (event->size().width() == event->oldSize().width()) {
        lay_out();
        return;
    }
    // Keep the first visible turn in place, at the same relative offset.
    QScrollBar* bar = verticalScrollBar();
    const int first = turns_.is_empty() ? -1 : layout_.turn_at(bar->value());
    const auto height_of = [&](int turn) { return layout_.bottom(turn) - layout_.top(turn); };
    const double into =
        first < 0 ? 0 : static_cast<double>(bar->value() - layout_.top(first)) / std::max(1, height_of(first));
    layout_.set_viewport(viewport()->size());
    layout_.wrap_again();
    if (first >= 0 && !at_end_) {
        laying_out_ = true;
        update_range();
        bar->setValue(layout_.top(first) + static_cast<int>(into * height_of(first)));
        laying_out_ = false;
    }
    lay_out();
}

void ChatView::scrollContentsBy(int, int)
{
    if (laying_out_) return;
    at_end_ = verticalScrollBar()->value() >= verticalScrollBar()->maximum() - 2;
    lay_out();
}

void ChatView::jump_to_end()
{
    at_end_ = true;
    lay_out();
}

void ChatView::changeEvent(QEvent* event)
{
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange ||
        event->type() == QEvent::StyleChange)
        restyle();
}

HotAreas ChatView::hot_areas() const
{
    const TurnFocus focus{.current = current_, .hovered = hovered_, .has_focus = hasFocus()};
    return {layout_, focus, verticalScrollBar()->value(), layoutDirection()};
}

void ChatView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const HotAreas areas = hot_areas();
    const QPoint mouse = viewport()->mapFromGlobal(QCursor::pos());
    const ChatPicture picture{.layout = layout_,
                              .selection = selection_,
                              .areas = areas,
                              .mouse = underMouse() ? std::optional(mouse) : std::nullopt,
                              .cursor_is_lit = blink_.is_lit(),
                              .focus = accent(palette())};
    ChatPainter(painter, picture).paint();
}

// ---- turns by number

QRect ChatView::turn_rect(int turn) const
{
    return layout_.rect(turn).translated(0, -verticalScrollBar()->value());
}

void ChatView::perform(int turn, TurnAction action)
{
    if (!turns_.has(turn)) return; // it was removed while a menu was open
    const std::vector<TurnAction> possible = turns_.actions(turn);
    if (std::find(possible.begin(), possible.end(), action) == possible.end()) return;
    const ChatEntry& entry = turns_[turn];
    switch (action) {
    case TurnAction::Earlier:
        return show_version(turn, entry.version - 1);
    case TurnAction::Later:
        return show_version(turn, entry.version + 1);
    case TurnAction::Copy:
        return copy(turns_.text(turn));
    case TurnAction::CopyMarkdown:
        return copy(entry.text());
    case TurnAction::Regenerate:
        Q_EMIT regenerate_wanted();
        return;
    case TurnAction::Branch:
        Q_EMIT branch_wanted(entry.turn.message, entry.turn.text);
        return;
    case TurnAction::ShowSources:
        Q_EMIT sources_wanted(entry.turn);
        return;
    case TurnAction::ShowQuote:
        Q_EMIT quote_wanted(entry.turn);
        return;
    }
}

void ChatView::open_source(int turn, int source)
{
    if (!turns_.has(turn)) return;
    const std::optional<Provenance>& from = turns_[turn].turn.provenance;
    if (!from || source < 0 || source >= static_cast<int>(from->sources.size())) return;
    Q_EMIT place_wanted(from->sources[static_cast<size_t>(source)].range);
}

void ChatView::show_version(int turn, size_t version)
{
    turns_[turn].version = version;
    layout_.discard(turn);
    selection_.clear();
    lay_out_from(turn);
    announce(turn);
}

void ChatView::show_all_lines(int turn)
{
    if (!turns_.has(turn)) return; // it was removed while the menu was open
    MessageLayout& layout = layout_.layout_of(turn);
    for (const TextPosition& place : layout.collapsed_places())
        layout.press({place, {}, MessageLayout::Button::ShowAll, false});
    layout_.adopt_height(turn);
    lay_out();
}

void ChatView::select_turn(int turn)
{
    if (!turns_.has(turn)) return;
    selection_.select_turn(turns_, turn);
    viewport()->update();
}

void ChatView::set_current_turn(int turn)
{
    if (turns_.is_empty()) return;
    current_ = std::clamp(turn, 0, turns_.count() - 1);
    const int height = viewport()->height();
    const bool fits = layout_.bottom(current_) - layout_.top(current_) <= height;
    QScrollBar* bar = verticalScrollBar();
    if (current_ + 1 == turns_.count() && fits)
        jump_to_end();
    else if (layout_.top(current_) < bar->value() || !fits)
        bar->setValue(layout_.top(current_));
    else if (layout_.bottom(current_) > bar->value() + height)
        bar->setValue(layout_.bottom(current_) - height);
    if (hasFocus()) {
        QAccessibleEvent event(this, QAccessible::Focus);
        event.setChild(current_);
        QAccessible::updateAccessibility(&event);
    }
    viewport()->update();
}

// Down scrolls through a turn that extends below the view before it selects the next one; Up likewise.
void ChatView::move_current(int by)
{
    if (turns_.is_empty()) return;
    QScrollBar* bar = verticalScrollBar();
    const int height = viewport()->height(), line_height = layout_.style().line_height;
    if (current_ < 0) return set_current_turn(layout_.turn_at(bar->value() + (by > 0 ? 0 : height)));
    const QRect rect = turn_rect(current_);
    const int step = height - 2 * line_height;
    const bool in_view = rect.bottom() > 0 && rect.top() < height;
    if (in_view && by > 0 && rect.bottom() > height + line_height && bar->value() < bar->maximum())
        return bar->setValue(bar->value() + std::min(step, rect.bottom() - height));
    if (in_view && by < 0 && rect.top() < -line_height)
        return bar->setValue(bar->value() - std::min(step, -rect.top()));
    if (turns_.has(current_ + by)) set_current_turn(current_ + by);
}

} // namespace palimpsest::ui
