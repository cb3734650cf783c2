// The turns of the chat view by number: their texts, their actions, and navigation.
#include <QAccessible>
#include <QClipboard>
#include <QGuiApplication>
#include <QLocale>
#include <QScrollBar>
#include <algorithm>

#include "ui/base/quantity.h"
#include "ui/chat/chat_entry.h"
#include "ui/chat/chat_view.h"

namespace palimpsest::ui {

int ChatView::turn_count() const
{
    return static_cast<int>(entries_.size());
}

QString ChatView::turn_name(int turn) const
{
    const ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
    if (!is_answer(entry.turn)) return tr("You");
    if (entry.growing) return tr("Palimpsest, answering");
    const QString state = state_text(entry);
    return state.isEmpty() ? tr("Palimpsest") : tr("Palimpsest. %1").arg(state);
}

QString ChatView::turn_text(int turn) const
{
    const ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
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

QString ChatView::state_text(const ChatEntry& entry) const
{
    if (entry.version < entry.turn.earlier.size()) return tr("An earlier answer, taken back.");
    if (entry.turn.damaged) return tr("Damaged: this text is not what was stored.");
    if (entry.turn.state == storage::MessageState::Stopped) return tr("Stopped: this answer is not complete.");
    if (entry.turn.state == storage::MessageState::Cut)
        return tr("Cut at the length limit: this answer is not complete.");
    return {};
}

QString ChatView::footer_text(const ChatEntry& entry) const
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
    return lines.join(QLatin1Char('\n'));
}

QString ChatView::place_name(const StreamRange& range) const
{
    if (place_name_) return place_name_(range);
    return tr("tokens %1 to %2")
        .arg(QLocale().toString(static_cast<qulonglong>(range.first)),
             QLocale().toString(static_cast<qulonglong>(range.last)));
}

QString ChatView::source_note(const Provenance::Source& source) const
{
    return tr("%1: %2 of the answer's attention, %3 of it was still held")
        .arg(place_name(source.range), share_text(source.weight), share_text(source.held));
}

std::vector<TurnAction> ChatView::actions(int turn) const
{
    const ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
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
    const ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
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
    if (turn < 0 || turn >= turn_count()) return; // it was removed while a menu was open
    const std::vector<TurnAction> possible = actions(turn);
    if (std::find(possible.begin(), possible.end(), action) == possible.end()) return;
    const ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
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
        Q_EMIT sources_wanted(entry.turn);
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
    ChatEntry& entry = *entries_[static_cast<size_t>(turn)];
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

// Down scrolls through a turn that extends below the view before it selects the next one; Up likewise.
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

} // namespace palimpsest::ui
