#include "ui/chat/chat_view.h"

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLocale>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QStyle>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/base/theme.h"
#include "ui/chat/chat_accessible.h"
#include "ui/chat/visible_text.h"

namespace palimpsest::ui {
namespace {

constexpr int slice_ms = 15; // of layout at a time
constexpr int blink_ms = 530;
constexpr int screens_kept = 3; // above and below, with their layout
constexpr int column_characters = 84;
constexpr size_t sources_shown = 9;

QString percent(double share)
{
    return QLocale().toString(std::lround(100 * share)) + QLocale().percent();
}

bool is_answer(const Turn& turn)
{
    return turn.role == storage::Role::Assistant;
}

} // namespace

struct ChatView::Entry {
    Turn turn;
    size_t version = 0; // of earlier; their number: the turn's own text
    bool growing = false, measured = false;
    std::unique_ptr<MessageLayout> layout; // null: it was not seen
    int body = 0, footer = 0;              // heights; estimated until measured

    const QString& text() const { return version < turn.earlier.size() ? turn.earlier[version] : turn.text; }
    Message::Format format() const { return is_answer(turn) ? Message::Format::Markdown : Message::Format::Plain; }
};

struct ChatView::HotArea {
    QRect rect; // of the viewport
    QString label;
    std::optional<TurnAction> action;
    int source = -1; // a citation
};

ChatView::ChatView(QWidget* parent) : QAbstractScrollArea(parent)
{
    install_chat_accessibility();
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
    setBackgroundRole(QPalette::Base); // of the margin
    setAutoFillBackground(true);
}

ChatView::~ChatView() = default;

// ---- what is shown

void ChatView::set_turns(const std::vector<Turn>& turns)
{
    growing_ = false;
    blink_.stop();
    std::vector<std::unique_ptr<Entry>> old = std::move(entries_);
    entries_.clear();
    entries_.reserve(turns.size());
    for (size_t i = 0; i < turns.size(); ++i) {
        auto entry = std::make_unique<Entry>();
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
        entries_.push_back(std::make_unique<Entry>());
        entries_.back()->turn.text = question;
        entries_.push_back(std::make_unique<Entry>());
        entries_.back()->turn.role = storage::Role::Assistant;
    }
    Entry& entry = *entries_.back();
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
    Entry& entry = *entries_.back();
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
    Entry& entry = *entries_.back();
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
    // Qt 6.4 knows no announcements: an alert about the turn is what screen readers speak.
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

MessageLayout& ChatView::layout_of(Entry& entry)
{
    if (!entry.layout) {
        entry.layout = std::make_unique<MessageLayout>();
        entry.layout->set_text(entry.text(), entry.format());
        entry.layout->set_geometry(style_, column_width());
        entry.body = entry.layout->height();
    }
    return *entry.layout;
}

void ChatView::measure(Entry& entry)
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
        Entry& entry = *entries_[i];
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

// The first one in view that was there before, and is to stay where it is; -1: there is none.
int ChatView::seen_entry_at(int top, int bottom) const
{
    for (auto i = static_cast<size_t>(entry_at(top)); i < entries_.size() && tops_[i] < bottom; ++i)
        if (entries_[i]->measured && entries_[i]->layout) return static_cast<int>(i);
    return -1;
}

bool ChatView::lay_out_entries(int top, int bottom, const QDeadlineTimer& until, int* moved, int anchor,
                               int* anchor_inner)
{
    *moved = 0;
    for (auto i = static_cast<size_t>(entry_at(top)); i < entries_.size() && tops_[i] < bottom; ++i) {
        Entry& entry = *entries_[i];
        // What begins above the reader's eye grows upwards.
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

// Lays out what is in view, at most a slice; the rest follows when the event loop has had its turn.
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
        Entry& entry = *entries_[i];
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
    // The turn at the top stays there, and as far into it.
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

// ---- turns

int ChatView::turn_count() const
{
    return static_cast<int>(entries_.size());
}

QString ChatView::turn_name(int turn) const
{
    const Entry& entry = *entries_[static_cast<size_t>(turn)];
    if (!is_answer(entry.turn)) return tr("You");
    if (entry.growing) return tr("Palimpsest, answering");
    const QString state = state_text(entry);
    return state.isEmpty() ? tr("Palimpsest") : tr("Palimpsest. %1").arg(state);
}

QString ChatView::turn_text(int turn) const
{
    const Entry& entry = *entries_[static_cast<size_t>(turn)];
    MessageLayout plain;
    plain.set_text(entry.text(), entry.format());
    return plain.text_between(plain.begin(), plain.end());
}

QString ChatView::turn_notes(int turn) const
{
    return footer_text(*entries_[static_cast<size_t>(turn)]);
}

QRect ChatView::turn_rect(int turn) const
{
    const auto i = static_cast<size_t>(turn);
    return {column_left(), tops_[i] - verticalScrollBar()->value(), column_width(), tops_[i + 1] - tops_[i]};
}

QString ChatView::state_text(const Entry& entry) const
{
    if (entry.version < entry.turn.earlier.size()) return tr("An earlier answer, taken back.");
    if (entry.turn.damaged) return tr("Damaged: this text is not what was stored.");
    if (entry.turn.state == storage::MessageState::Stopped) return tr("Stopped: this answer is not complete.");
    if (entry.turn.state == storage::MessageState::Cut)
        return tr("Cut at the length limit: this answer is not complete.");
    return {};
}

QString ChatView::footer_text(const Entry& entry) const
{
    QStringList lines;
    const QString state = state_text(entry);
    if (!state.isEmpty() && !entry.growing) lines += QStringLiteral("■ ") + state;
    if (!entry.turn.provenance || entry.growing || entry.version < entry.turn.earlier.size())
        return lines.join(QLatin1Char('\n'));
    const Provenance& from = *entry.turn.provenance;
    const QLocale locale;
    const auto number = [&](uint64_t n) { return locale.toString(static_cast<qulonglong>(n)); };
    if (from.tokens_in_input > 0) {
        const QString read = tr("%1 of %2 tokens read", nullptr,
                                static_cast<int>(std::min<uint64_t>(from.tokens_in_input, 1u << 30)))
                                 .arg(number(from.tokens_read), number(from.tokens_in_input));
        const QString kept =
            tr("%1 kept per head", nullptr, from.budget).arg(number(static_cast<uint64_t>(from.budget)));
        const uint64_t missing = from.tokens_in_input - std::min(from.tokens_read, from.tokens_in_input);
        lines +=
            tr("%1, %2, %3")
                .arg(read, kept, missing == 0 ? tr("nothing cut") : tr("%1 not read yet").arg(number(missing)));
    }
    if (!from.sources.empty()) {
        double weight = 0, held = 0;
        for (const Provenance::Source& source : from.sources) {
            weight += source.weight;
            held += source.weight * source.held;
        }
        if (weight > 0) lines += tr("%1 of the passages it rests on was still held").arg(percent(held / weight));
    }
    return lines.join(QLatin1Char('\n'));
}

QString ChatView::place_name(const StreamRange& range) const
{
    if (place_name_) return place_name_(range);
    return tr("tokens %1 to %2")
        .arg(QLocale().toString(static_cast<qulonglong>(range.first)),
             QLocale().toString(static_cast<qulonglong>(range.last)));
}

std::vector<TurnAction> ChatView::actions(int turn) const
{
    const Entry& entry = *entries_[static_cast<size_t>(turn)];
    std::vector<TurnAction> out;
    const bool last = turn + 1 == turn_count();
    if (entry.version > 0) out.push_back(TurnAction::Earlier);
    if (entry.version < entry.turn.earlier.size()) out.push_back(TurnAction::Later);
    if (!entry.growing || !entry.turn.text.isEmpty()) {
        out.push_back(TurnAction::Copy);
        out.push_back(TurnAction::CopyMarkdown);
    }
    if (is_answer(entry.turn) && last && !growing_) out.push_back(TurnAction::Regenerate);
    if (!is_answer(entry.turn) && entry.turn.message != 0 && !growing_) out.push_back(TurnAction::Branch);
    if (entry.turn.provenance && !entry.growing) out.push_back(TurnAction::ShowSources);
    return out;
}

QString ChatView::action_label(int turn, TurnAction action) const
{
    const Entry& entry = *entries_[static_cast<size_t>(turn)];
    switch (action) {
    case TurnAction::Earlier:
        return tr("Previous answer");
    case TurnAction::Later:
        return tr("Next answer");
    case TurnAction::Copy:
        return tr("Copy");
    case TurnAction::CopyMarkdown:
        return is_answer(entry.turn) ? tr("Copy as Markdown") : tr("Copy as it was typed");
    case TurnAction::Regenerate:
        return tr("Answer again");
    case TurnAction::Branch:
        return tr("Edit and branch");
    case TurnAction::ShowSources:
        return tr("Show what it rests on");
    }
    return {};
}

void ChatView::perform(int turn, TurnAction action)
{
    if (turn < 0 || turn >= turn_count()) return; // it went while a menu was open
    const std::vector<TurnAction> possible = actions(turn);
    if (std::find(possible.begin(), possible.end(), action) == possible.end()) return;
    const Entry& entry = *entries_[static_cast<size_t>(turn)];
    switch (action) {
    case TurnAction::Earlier:
        return show_version(turn, entry.version - 1);
    case TurnAction::Later:
        return show_version(turn, entry.version + 1);
    case TurnAction::Copy:
        return copy(turn_text(turn));
    case TurnAction::CopyMarkdown:
        return copy(entry.text());
    case TurnAction::Regenerate:
        Q_EMIT regenerate_wanted();
        return;
    case TurnAction::Branch:
        Q_EMIT branch_wanted(entry.turn.message, entry.turn.text);
        return;
    case TurnAction::ShowSources:
        Q_EMIT xray_wanted(entry.turn);
        return;
    }
}

void ChatView::open_source(int turn, int source)
{
    if (turn < 0 || turn >= turn_count()) return;
    const std::optional<Provenance>& from = entries_[static_cast<size_t>(turn)]->turn.provenance;
    if (!from || source < 0 || source >= static_cast<int>(from->sources.size())) return;
    Q_EMIT place_wanted(from->sources[static_cast<size_t>(source)].range);
}

void ChatView::show_version(int turn, size_t version)
{
    Entry& entry = *entries_[static_cast<size_t>(turn)];
    entry.version = version;
    entry.measured = false;
    if (entry.layout) layouts_forgotten_ += entry.layout->layouts_made();
    entry.layout.reset();
    entry.body = 0;
    anchor_ = caret_ = {};
    update_tops(static_cast<size_t>(turn));
    lay_out();
    announce(turn);
}

void ChatView::copy(const QString& text)
{
    QGuiApplication::clipboard()->setText(text);
}

void ChatView::set_current_turn(int turn)
{
    if (entries_.empty()) return;
    current_ = std::clamp(turn, 0, turn_count() - 1);
    scroll_to(current_);
    if (hasFocus()) {
        QAccessibleEvent event(this, QAccessible::Focus);
        event.setChild(current_);
        QAccessible::updateAccessibility(&event);
    }
    viewport()->update();
}

void ChatView::scroll_to(int entry)
{
    const auto i = static_cast<size_t>(entry);
    QScrollBar* bar = verticalScrollBar();
    const int height = viewport()->height();
    if (entry + 1 == turn_count() && tops_[i + 1] - tops_[i] <= height) return jump_to_end();
    if (tops_[i] < bar->value() || tops_[i + 1] - tops_[i] > height)
        bar->setValue(tops_[i]);
    else if (tops_[i + 1] > bar->value() + height)
        bar->setValue(tops_[i + 1] - height);
}

// Down reads on: a turn that goes on below the view is scrolled before the next one is taken.
void ChatView::move_current(int by)
{
    if (entries_.empty()) return;
    QScrollBar* bar = verticalScrollBar();
    if (current_ < 0)
        return set_current_turn(by > 0 ? entry_at(bar->value()) : entry_at(bar->value() + viewport()->height()));
    const QRect rect = turn_rect(current_);
    const int step = viewport()->height() - 2 * style_.line_height;
    const bool in_view = rect.bottom() > 0 && rect.top() < viewport()->height();
    if (in_view && by > 0 && rect.bottom() > viewport()->height() + style_.line_height &&
        bar->value() < bar->maximum())
        return bar->setValue(bar->value() + std::min(step, rect.bottom() - viewport()->height()));
    if (in_view && by < 0 && rect.top() < -style_.line_height)
        return bar->setValue(bar->value() - std::min(step, -rect.top()));
    if (current_ + by >= 0 && current_ + by < turn_count()) set_current_turn(current_ + by);
}

// ---- selection

std::pair<ChatView::Cursor, ChatView::Cursor> ChatView::selection() const
{
    return anchor_ < caret_ ? std::pair(anchor_, caret_) : std::pair(caret_, anchor_);
}

QString ChatView::join_selection(bool markdown) const
{
    const auto [from, to] = selection();
    if (from.entry < 0 || from == to) return {};
    QStringList parts;
    for (int i = from.entry; i <= to.entry; ++i) {
        const Entry& entry = *entries_[static_cast<size_t>(i)];
        MessageLayout plain;
        plain.set_text(entry.text(), entry.format());
        const TextPlace begin = i == from.entry ? from.place : plain.begin();
        const TextPlace end = i == to.entry ? to.place : plain.end();
        parts += markdown ? plain.source_between(begin, end) : plain.text_between(begin, end);
    }
    return parts.join(QStringLiteral("\n\n"));
}

QString ChatView::selected_text() const
{
    return join_selection(false);
}

QString ChatView::selected_markdown() const
{
    return join_selection(true);
}

void ChatView::select_turn(int turn)
{
    if (turn < 0 || turn >= turn_count()) return;
    MessageLayout plain;
    const Entry& entry = *entries_[static_cast<size_t>(turn)];
    plain.set_text(entry.text(), entry.format());
    anchor_ = {turn, plain.begin()};
    caret_ = {turn, plain.end()};
    viewport()->update();
}

ChatView::Found ChatView::find(const QPoint& at)
{
    Found found;
    if (entries_.empty()) return found;
    const int y = at.y() + verticalScrollBar()->value();
    found.cursor.entry = entry_at(std::clamp(y, 0, std::max(0, tops_.back() - 1)));
    const auto i = static_cast<size_t>(found.cursor.entry);
    const int body = tops_[i] + header_height();
    Entry& entry = *entries_[i];
    MessageLayout& layout = layout_of(entry);
    if (y < body) return found;
    if (y >= body + layout.height()) {
        found.cursor.place = layout.end();
        return found;
    }
    found.spot = layout.spot_at(QPointF(at.x() - column_left(), y - body));
    found.cursor.place = found.spot.place;
    return found;
}

// ---- painting

bool ChatView::shows_actions(int entry) const
{
    return entry == hovered_ || (entry == current_ && hasFocus()) || entry + 1 == turn_count();
}

std::vector<ChatView::HotArea> ChatView::hot_areas(int index) const
{
    const auto i = static_cast<size_t>(index);
    const Entry& entry = *entries_[i];
    const QFontMetrics metrics(small_font_);
    const int top = tops_[i] - verticalScrollBar()->value();
    std::vector<HotArea> areas;
    if (shows_actions(index)) {
        int right = column_left() + column_width();
        const auto add = [&](const QString& label, std::optional<TurnAction> action) {
            const int width = metrics.horizontalAdvance(label) + style_.padding;
            right -= width;
            areas.push_back({QRect(right, top, width, header_height()), label, action, -1});
        };
        const std::vector<TurnAction> possible = actions(index);
        for (auto it = possible.rbegin(); it != possible.rend(); ++it)
            if (*it != TurnAction::Earlier && *it != TurnAction::Later && *it != TurnAction::CopyMarkdown)
                add(action_label(index, *it), *it);
        if (!entry.turn.earlier.empty()) {
            const auto has = [&](TurnAction a) {
                return std::find(possible.begin(), possible.end(), a) != possible.end();
            };
            add(QStringLiteral("›"), has(TurnAction::Later) ? std::optional(TurnAction::Later) : std::nullopt);
            add(tr("%1/%2").arg(entry.version + 1).arg(entry.turn.earlier.size() + 1), std::nullopt);
            add(QStringLiteral("‹"), has(TurnAction::Earlier) ? std::optional(TurnAction::Earlier) : std::nullopt);
        }
    }
    const int footer =
        top + header_height() + std::max(entry.body, style_.line_height) + entry.footer - style_.line_height;
    for (HotArea& area : source_areas(index, footer))
        areas.push_back(std::move(area));
    for (HotArea& area : areas)
        area.rect = QStyle::visualRect(layoutDirection(), viewport()->rect(), area.rect);
    return areas;
}

std::vector<ChatView::HotArea> ChatView::source_areas(int index, int top) const
{
    const Entry& entry = *entries_[static_cast<size_t>(index)];
    std::vector<HotArea> areas;
    if (!entry.turn.provenance || entry.growing || entry.version < entry.turn.earlier.size()) return areas;
    const QFontMetrics metrics(small_font_);
    int x = column_left() + metrics.horizontalAdvance(tr("Rests on")) + style_.padding;
    const size_t shown = std::min(sources_shown, entry.turn.provenance->sources.size());
    for (size_t s = 0; s < shown; ++s) {
        const QString label = QLocale().toString(static_cast<int>(s) + 1);
        const int width = std::max(metrics.horizontalAdvance(label) + style_.padding, style_.line_height);
        areas.push_back({QRect(x, top, width, style_.line_height), label, std::nullopt, static_cast<int>(s)});
        x += width + style_.padding / 2;
    }
    return areas;
}

const ChatView::HotArea* ChatView::hot_area_at(const std::vector<HotArea>& areas, const QPoint& at) const
{
    for (const HotArea& area : areas)
        if (area.rect.contains(at) && (area.action || area.source >= 0)) return &area;
    return nullptr;
}

void ChatView::press_area(int entry, const HotArea& area)
{
    if (area.action) perform(entry, *area.action);
    if (area.source >= 0) open_source(entry, area.source);
}

void ChatView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const int top = verticalScrollBar()->value();
    for (int i = entries_.empty() ? 0 : entry_at(top);
         i < turn_count() && tops_[static_cast<size_t>(i)] < top + viewport()->height(); ++i)
        paint_entry(painter, i);
}

void ChatView::paint_entry(QPainter& painter, int index)
{
    const auto i = static_cast<size_t>(index);
    const Entry& entry = *entries_[i];
    const int top = tops_[i] - verticalScrollBar()->value();
    if (!is_answer(entry.turn)) {
        const int margin = style_.padding;
        const QRect panel(column_left() - margin, top, column_width() + 2 * margin,
                          tops_[i + 1] - tops_[i] - style_.padding);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(style_.code_background);
        painter.drawRoundedRect(panel, style_.padding / 2.0, style_.padding / 2.0);
    }
    if (index == current_ && hasFocus()) {
        const int bar = std::max(2, style_.padding / 4);
        painter.fillRect(QRect(std::max(0, column_left() - style_.padding - 2 * bar), top, bar,
                               tops_[i + 1] - tops_[i] - style_.padding),
                         accent(palette()));
    }
    paint_header(painter, index, top);
    const int body = top + header_height();
    if (entry.layout) {
        painter.save();
        painter.translate(column_left(), body);
        const auto [from, to] = selection();
        std::optional<TextSelection> marked;
        if (from.entry >= 0 && from != to && from.entry <= index && index <= to.entry)
            marked = {index == from.entry ? from.place : TextPlace{},
                      index == to.entry ? to.place : entry.layout->end()};
        entry.layout->paint(painter, -body, viewport()->height() - body, marked ? &*marked : nullptr);
        painter.restore();
    }
    if (entry.growing && entry.version == entry.turn.earlier.size()) paint_growing(painter, entry, body);
    paint_footer(painter, index, body + std::max(entry.body, style_.line_height));
}

void ChatView::paint_header(QPainter& painter, int index, int top)
{
    const Entry& entry = *entries_[static_cast<size_t>(index)];
    QFont bold = small_font_;
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(is_answer(entry.turn) ? style_.link : style_.quiet);
    const QRect head = QStyle::visualRect(layoutDirection(), viewport()->rect(),
                                          QRect(column_left(), top, column_width(), header_height()));
    const QString speaker = !is_answer(entry.turn) ? tr("You")
                            : entry.growing        ? tr("Palimpsest is answering…")
                                                   : tr("Palimpsest");
    painter.drawText(head,
                     static_cast<int>(QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft | Qt::AlignVCenter)),
                     speaker);
    painter.setFont(small_font_);
    for (const HotArea& area : hot_areas(index)) {
        if (area.source >= 0) continue;
        painter.setPen(style_.quiet);
        QFont underlined = small_font_;
        const bool under =
            area.action && area.rect.contains(viewport()->mapFromGlobal(QCursor::pos())) && underMouse();
        underlined.setUnderline(under);
        painter.setFont(underlined);
        painter.setOpacity(area.action || area.label.size() > 1 ? 1 : 0.4);
        painter.drawText(area.rect, Qt::AlignCenter, area.label);
        painter.setOpacity(1);
    }
}

void ChatView::paint_footer(QPainter& painter, int index, int top)
{
    const Entry& entry = *entries_[static_cast<size_t>(index)];
    if (entry.footer == 0) return;
    painter.setFont(small_font_);
    painter.setPen(style_.quiet);
    const QRect area = QStyle::visualRect(layoutDirection(), viewport()->rect(),
                                          QRect(column_left(), top + style_.padding, column_width(), entry.footer));
    painter.drawText(area,
                     static_cast<int>(QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft | Qt::AlignTop)) |
                         Qt::TextWordWrap,
                     footer_text(entry));
    bool said = false;
    for (const HotArea& hot : hot_areas(index)) {
        if (hot.source < 0) continue;
        if (!said) {
            const QRect row = QStyle::visualRect(
                layoutDirection(), viewport()->rect(),
                QRect(column_left(), top + entry.footer - style_.line_height, column_width(), style_.line_height));
            painter.drawText(
                row, static_cast<int>(QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft | Qt::AlignVCenter)),
                tr("Rests on"));
        }
        said = true;
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(style_.line);
        painter.setBrush(style_.code_background);
        const QRectF chip =
            QRectF(hot.rect).adjusted(0.5, style_.padding / 6 + 0.5, -0.5, -style_.padding / 6 - 0.5);
        painter.drawRoundedRect(chip, style_.padding / 3.0, style_.padding / 3.0);
        painter.setPen(style_.link);
        painter.drawText(hot.rect, Qt::AlignCenter, hot.label);
        painter.setPen(style_.quiet);
    }
}

void ChatView::paint_growing(QPainter& painter, const Entry& entry, int top)
{
    if (!lit_ && !reduced_motion_) return;
    QRectF at(0, 0, 1, style_.line_height);
    if (entry.layout && !entry.turn.text.isEmpty()) {
        const std::optional<QRectF> end = entry.layout->end_rect();
        if (!end) return;
        at = *end;
    }
    painter.fillRect(QRectF(column_left() + at.x() + 1, top + at.y() + at.height() * 0.12, style_.character * 0.6,
                            at.height() * 0.76),
                     style_.link);
}

// ---- events

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
    Entry& entry = *entries_[static_cast<size_t>(turn)];
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
    const std::vector<TextPlace> codes = layout.code_places();
    for (size_t i = 0; i < codes.size() && i < sources_shown; ++i)
        menu->addAction(tr("Copy code block %1").arg(i + 1), this,
                        [this, text = layout.code_at(codes[i])] { copy(text); });
    if (const std::vector<TextPlace> more = layout.collapsed_places(); !more.empty())
        menu->addAction(tr("Show all lines"), this, [this, turn] {
            Entry& shown = *entries_[static_cast<size_t>(turn)];
            for (const TextPlace& place : layout_of(shown).collapsed_places())
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
    set_hovered(found.cursor.entry, event->pos());
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

void ChatView::set_hovered(int entry, const QPoint&)
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
    Entry& entry = *entries_[static_cast<size_t>(found.cursor.entry)];
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
        if (area && area->source >= 0) {
            const Provenance::Source& source = entries_[static_cast<size_t>(found.cursor.entry)]
                                                   ->turn.provenance->sources[static_cast<size_t>(area->source)];
            text = tr("%1: %2 of the answer's attention, %3 of it was still held")
                       .arg(place_name(source.range), percent(source.weight), percent(source.held));
        }
        // Addresses and titles are foreign: never rich text.
        QToolTip::showText(
            help->globalPos(),
            text.isEmpty() ? QString()
                           : text.toHtmlEscaped().prepend(QStringLiteral("<qt>")).append(QStringLiteral("</qt>")),
            viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void ChatView::changeEvent(QEvent* event)
{
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange ||
        event->type() == QEvent::StyleChange)
        restyle();
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
