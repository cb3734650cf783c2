#include "ui/chat/chat_view.h"

#include <QAccessible>
#include <QApplication>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "ui/chat/chat_entry.h"

namespace palimpsest::ui {
namespace {

constexpr int slice_ms = 15; // of layout work per slice
constexpr int blink_ms = 530;
constexpr int screens_kept = 3; // above and below the view, with their layout
constexpr int column_characters = 84;

} // namespace

ChatView::ChatView(QWidget* parent) : QAbstractScrollArea(parent)
{
    install_accessibility();
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Chat"));
    viewport()->setMouseTracking(true);
    reduced_motion_ = QApplication::cursorFlashTime() <= 0;
    jump_ = new QToolButton(viewport());
    jump_->setText(tr("Jump to the end"));
    jump_->setAccessibleName(jump_->text());
    jump_->setToolTip(tr("Jump to the end, and follow it (End)"));
    jump_->setArrowType(Qt::DownArrow);
    jump_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    jump_->setCursor(Qt::ArrowCursor);
    jump_->hide();
    connect(jump_, &QToolButton::clicked, this, [this] {
        jump_to_end();
        setFocus();
    });
    later_.setSingleShot(true);
    later_.setInterval(0);
    connect(&later_, &QTimer::timeout, this, &ChatView::lay_out);
    blink_.setInterval(blink_ms);
    connect(&blink_, &QTimer::timeout, this, [this] {
        lit_ = !lit_;
        viewport()->update();
    });
    restyle();
    setViewportMargins(0, fontMetrics().height() / 2, 0, 0);
    setBackgroundRole(QPalette::Base); // for the viewport margin
    setAutoFillBackground(true);
}

ChatView::~ChatView() = default;

// ---- contents

void ChatView::set_turns(const std::vector<Turn>& turns)
{
    growing_ = false;
    blink_.stop();
    std::vector<std::unique_ptr<ChatEntry>> old = std::move(entries_);
    entries_.clear();
    entries_.reserve(turns.size());
    for (size_t i = 0; i < turns.size(); ++i) {
        auto entry = std::make_unique<ChatEntry>();
        const bool same = i < old.size() && old[i]->turn.role == turns[i].role && old[i]->text() == turns[i].text;
        if (same) entry = std::move(old[i]);
        entry->turn = turns[i];
        entry->version = turns[i].earlier.size();
        entry->growing = entry->measured = false;
        entries_.push_back(std::move(entry));
    }
    const bool shrunk = old.size() > entries_.size();
    if (shrunk || (anchor_.entry >= 0 && anchor_.entry >= turn_count())) anchor_ = caret_ = {};
    current_ = std::min(current_, turn_count() - 1);
    hovered_ = -1;
    tops_.assign(entries_.size() + 1, 0);
    for (auto& entry : entries_)
        if (!entry->layout) entry->body = 0;
    update_tops(0);
    lay_out();
    QAccessibleEvent event(this, QAccessible::ObjectReorder);
    QAccessible::updateAccessibility(&event);
    Q_EMIT turns_changed();
}

void ChatView::begin_answer(const QString& question)
{
    const bool again = question.isEmpty() && !entries_.empty() && is_answer(entries_.back()->turn);
    if (again) {
        Turn& turn = entries_.back()->turn;
        turn.earlier.push_back(turn.text);
    } else {
        entries_.push_back(std::make_unique<ChatEntry>());
        entries_.back()->turn.text = question;
        entries_.push_back(std::make_unique<ChatEntry>());
        entries_.back()->turn.role = storage::Role::Assistant;
    }
    ChatEntry& entry = *entries_.back();
    entry.turn.text.clear();
    entry.turn.state = storage::MessageState::Growing;
    entry.turn.provenance.reset();
    entry.version = entry.turn.earlier.size();
    entry.growing = growing_ = true;
    entry.measured = false;
    entry.layout.reset();
    entry.body = 0;
    lit_ = true;
    if (!reduced_motion_) blink_.start();
    update_tops(entries_.size() > 1 ? entries_.size() - 2 : 0);
    lay_out();
    QAccessibleEvent event(this, QAccessible::ObjectReorder);
    QAccessible::updateAccessibility(&event);
    Q_EMIT turns_changed();
}

void ChatView::grow_answer(const QString& answer)
{
    if (!growing_ || entries_.back()->turn.text == answer) return;
    ChatEntry& entry = *entries_.back();
    entry.turn.text = answer;
    if (entry.layout && entry.version == entry.turn.earlier.size()) {
        entry.layout->set_text(answer, entry.format());
        entry.body = entry.layout->height();
        update_tops(entries_.size() - 1);
    }
    lay_out();
}

void ChatView::end_answer(const Turn& answer)
{
    if (!growing_) return;
    grow_answer(answer.text);
    ChatEntry& entry = *entries_.back();
    const bool at_newest = entry.version == entry.turn.earlier.size();
    entry.turn = answer;
    if (at_newest) entry.version = answer.earlier.size();
    entry.growing = growing_ = entry.measured = false;
    blink_.stop();
    update_tops(entries_.size() - 1);
    lay_out();
    announce(turn_count() - 1);
    Q_EMIT turns_changed();
}

void ChatView::abandon_answer()
{
    if (!growing_) return;
    std::vector<Turn> turns;
    for (const auto& entry : entries_)
        turns.push_back(entry->turn);
    Turn& last = turns.back();
    if (!last.earlier.empty()) {
        last.text = last.earlier.back();
        last.earlier.pop_back();
        last.state = storage::MessageState::Complete;
    } else {
        turns.resize(turns.size() - 2);
    }
    set_turns(turns);
}

void ChatView::set_place_name(std::function<QString(StreamRange)> name)
{
    place_name_ = std::move(name);
}

void ChatView::set_reduced_motion(bool reduced)
{
    reduced_motion_ = reduced;
    lit_ = true;
    if (reduced)
        blink_.stop();
    else if (growing_)
        blink_.start();
    viewport()->update();
}

void ChatView::announce(int entry)
{
    // Qt 6.4 has no announcement events; screen readers speak an alert on the turn instead.
    QAccessibleEvent event(this, QAccessible::Alert);
    event.setChild(entry);
    QAccessible::updateAccessibility(&event);
    Q_EMIT announced(entry);
}

// ---- geometry

int ChatView::column_width() const
{
    const int margin = 2 * style_.indent;
    return std::max(10 * style_.character,
                    std::min(viewport()->width() - 2 * margin, column_characters * style_.character));
}

int ChatView::column_left() const
{
    return std::max(style_.padding, (viewport()->width() - column_width()) / 2);
}

int ChatView::header_height() const
{
    return style_.line_height + style_.padding / 2;
}

void ChatView::restyle()
{
    style_ = MessageStyle::of(font(), palette());
    small_font_ = font();
    if (small_font_.pointSizeF() > 0) small_font_.setPointSizeF(small_font_.pointSizeF() * 0.92);
    for (auto& entry : entries_) {
        if (entry->layout) layouts_forgotten_ += entry->layout->layouts_made();
        entry->layout.reset();
        entry->measured = false;
        entry->body = 0;
    }
    verticalScrollBar()->setSingleStep(style_.line_height);
    update_tops(0);
    lay_out();
}

MessageLayout& ChatView::layout_of(ChatEntry& entry)
{
    if (!entry.layout) {
        entry.layout = std::make_unique<MessageLayout>();
        entry.layout->set_text(entry.text(), entry.format());
        entry.layout->set_geometry(style_, column_width());
        entry.body = entry.layout->height();
    }
    return *entry.layout;
}

void ChatView::measure(ChatEntry& entry)
{
    layout_of(entry);
    if (entry.measured) return;
    entry.measured = true;
    const QString footer = footer_text(entry);
    const QFontMetrics metrics(small_font_);
    entry.footer = 0;
    if (!footer.isEmpty())
        entry.footer =
            style_.padding +
            metrics.boundingRect(QRect(0, 0, column_width(), 1 << 20), Qt::TextWordWrap, footer).height();
    if (entry.turn.provenance && !entry.turn.provenance->sources.empty() && !entry.growing)
        entry.footer += style_.padding / 2 + style_.line_height;
}

void ChatView::update_tops(size_t from)
{
    tops_.resize(entries_.size() + 1, 0);
    from = std::min(from, entries_.size());
    const int in_line = std::max(8, column_width() / style_.character);
    for (size_t i = from; i < entries_.size(); ++i) {
        ChatEntry& entry = *entries_[i];
        if (entry.body == 0 && !entry.layout)
            entry.body = static_cast<int>(std::min<qsizetype>(entry.text().size() / in_line + 1, 20000)) *
                         style_.line_height;
        const int body = std::max(entry.body, style_.line_height);
        tops_[i + 1] = tops_[i] + header_height() + body + entry.footer + 2 * style_.padding + style_.padding / 2;
    }
}

void ChatView::update_range()
{
    const int height = viewport()->height();
    QScrollBar* bar = verticalScrollBar();
    bar->setPageStep(height);
    bar->setRange(0, std::max(0, tops_.back() + style_.padding - height));
}

int ChatView::entry_at(int y) const
{
    const auto next = std::upper_bound(tops_.begin(), tops_.end() - 1, y);
    return next == tops_.begin() ? 0 : static_cast<int>(next - tops_.begin()) - 1;
}

// Returns the last entry in view that is already measured and is to keep its place on the screen; -1 if there is
// none. The first one would not do: perhaps only its end was visible, and heights above it are estimates.
int ChatView::seen_entry_at(int top, int bottom) const
{
    int seen = -1;
    for (auto i = static_cast<size_t>(entry_at(top)); i < entries_.size() && tops_[i] < bottom; ++i)
        if (entries_[i]->measured && entries_[i]->layout) seen = static_cast<int>(i);
    return seen;
}

bool ChatView::lay_out_entries(int top, int bottom, const QDeadlineTimer& until, int* moved, int anchor,
                               int* anchor_inner)
{
    *moved = 0;
    for (auto i = static_cast<size_t>(entry_at(top)); i < entries_.size() && tops_[i] < bottom; ++i) {
        ChatEntry& entry = *entries_[i];
        // An entry that starts above the view grows upwards.
        const bool above = tops_[i] < top;
        const int before = entry.body + entry.footer;
        int inner = 0;
        measure(entry);
        const int measured = above ? entry.body + entry.footer - before : 0;
        update_tops(i);
        top += measured;
        bottom += measured;
        const int body = tops_[i] + header_height();
        const bool done = entry.layout->lay_out(top - body, bottom - body, until, &inner);
        entry.body = entry.layout->height();
        update_tops(i);
        *moved += measured + inner;
        if (static_cast<int>(i) == anchor) *anchor_inner = inner;
        top += inner;
        bottom += inner;
        if (!done) return false;
        if (until.hasExpired() && i + 1 < entries_.size() && tops_[i + 1] < bottom) return false;
    }
    return true;
}

// Lays out what is in view, for one slice of time at most; continues from the event loop.
void ChatView::lay_out()
{
    if (laying_out_) return;
    laying_out_ = true;
    const QDeadlineTimer until(slice_ms);
    QScrollBar* bar = verticalScrollBar();
    update_range();
    if (bar->maximum() == 0) at_end_ = true;
    const int height = viewport()->height();
    bool done = false;
    for (int round = 0; round < 8 && !done; ++round) {
        if (at_end_) bar->setValue(bar->maximum());
        const int top = bar->value();
        const int anchor = seen_entry_at(top, top + height);
        const int was = anchor < 0 ? 0 : tops_[static_cast<size_t>(anchor)];
        int moved = 0, inner = 0;
        done = lay_out_entries(top, top + height, until, &moved, anchor, &inner);
        if (anchor >= 0) moved = tops_[static_cast<size_t>(anchor)] - was + inner;
        update_range();
        if (!at_end_) bar->setValue(top + moved);
        done = done && (!at_end_ || bar->maximum() == top) && (at_end_ || moved == 0);
        if (until.hasExpired()) break;
    }
    if (at_end_) bar->setValue(bar->maximum());
    forget_far_layouts(bar->value(), bar->value() + height);
    laying_out_ = false;
    if (!done) later_.start();
    place_jump_button();
    viewport()->update();
}

void ChatView::forget_far_layouts(int top, int bottom)
{
    const int reach = screens_kept * viewport()->height();
    for (size_t i = 0; i < entries_.size(); ++i) {
        ChatEntry& entry = *entries_[i];
        if (!entry.layout) continue;
        if (tops_[i + 1] > top - reach && tops_[i] < bottom + reach) {
            const int body = tops_[i] + header_height();
            entry.layout->release(top - body, bottom - body, reach);
        } else if (!entry.growing) {
            layouts_forgotten_ += entry.layout->layouts_made();
            entry.layout.reset();
        }
    }
}

uint64_t ChatView::layouts_made() const
{
    uint64_t made = layouts_forgotten_;
    for (const auto& entry : entries_)
        if (entry->layout) made += entry->layout->layouts_made();
    return made;
}

void ChatView::place_jump_button()
{
    jump_->setVisible(!at_end_);
    if (at_end_) return;
    jump_->adjustSize();
    jump_->move((viewport()->width() - jump_->width()) / 2,
                viewport()->height() - jump_->height() - style_.padding);
}

void ChatView::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    if (event->size().width() == event->oldSize().width()) {
        lay_out();
        return;
    }
    // Keep the first visible turn in place, at the same relative offset.
    const int first = entries_.empty() ? -1 : entry_at(verticalScrollBar()->value());
    const double into =
        first < 0 ? 0
                  : static_cast<double>(verticalScrollBar()->value() - tops_[static_cast<size_t>(first)]) /
                        std::max(1, tops_[static_cast<size_t>(first) + 1] - tops_[static_cast<size_t>(first)]);
    for (auto& entry : entries_) {
        if (!entry->layout) entry->body = 0;
        entry->measured = false;
        if (entry->layout) entry->layout->set_geometry(style_, column_width());
        if (entry->layout) entry->body = entry->layout->height();
    }
    update_tops(0);
    if (first >= 0 && !at_end_) {
        laying_out_ = true;
        update_range();
        const auto i = static_cast<size_t>(first);
        verticalScrollBar()->setValue(tops_[i] + static_cast<int>(into * (tops_[i + 1] - tops_[i])));
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

} // namespace palimpsest::ui
