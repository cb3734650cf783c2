#include "ui/chat/turn_list.h"

#include "ui/base/place_text.h"
#include "ui/base/quantity.h"
#include "ui/base/utf8.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

// What of the answer no passage has, and the sentence that supports it.
QStringList lines_of(const QuotedSentence& quote)
{
    QStringList lines;
    QStringList missing;
    for (const std::string& thing : quote.unsupported)
        missing += text_of(thing);
    if (!missing.isEmpty())
        lines += TurnList::tr("Not in the passages that were found: %1").arg(missing.join(QStringLiteral(", ")));
    lines += TurnList::tr("The document says: “%1” (%2)")
                 .arg(text_of(quote.text).simplified(), place_text(text_of(quote.place), quote.pages));
    return lines;
}

QString state_of(const ChatEntry& entry)
{
    if (!entry.is_newest()) return TurnList::tr("An earlier answer, taken back.");
    if (entry.turn.damaged) return TurnList::tr("Damaged: this text is not what was stored.");
    if (entry.turn.state == storage::MessageState::Stopped)
        return TurnList::tr("Stopped: this answer is not complete.");
    if (entry.turn.state == storage::MessageState::Cut)
        return TurnList::tr("Cut at the length limit: this answer is not complete.");
    return {};
}

} // namespace

// ---- contents

bool TurnList::set(const std::vector<Turn>& turns)
{
    answering_ = false;
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
        if (!entry->layout) entry->body = 0;
        entries_.push_back(std::move(entry));
    }
    return old.size() > entries_.size();
}

void TurnList::begin_answer(const QString& question)
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
    entry.growing = answering_ = true;
    entry.measured = false;
    entry.layout.reset();
    entry.body = 0;
}

void TurnList::end_answer(const Turn& answer)
{
    ChatEntry& entry = *entries_.back();
    const bool at_newest = entry.version == entry.turn.earlier.size();
    entry.turn = answer;
    if (at_newest) entry.version = answer.earlier.size();
    entry.growing = answering_ = entry.measured = false;
}

std::vector<Turn> TurnList::before_answer() const
{
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
    return turns;
}

// ---- name, text and notes of a turn

QString TurnList::name(int turn) const
{
    const ChatEntry& entry = (*this)[turn];
    if (!is_answer(entry.turn)) return tr("You");
    if (entry.growing) return tr("Palimpsest, answering");
    const QString state = state_of(entry);
    return state.isEmpty() ? tr("Palimpsest") : tr("Palimpsest. %1").arg(state);
}

QString TurnList::text(int turn) const
{
    const ChatEntry& entry = (*this)[turn];
    MessageLayout plain;
    plain.set_text(entry.text(), entry.format());
    return plain.text_between(plain.begin(), plain.end());
}

QString TurnList::notes(int turn) const
{
    const ChatEntry& entry = (*this)[turn];
    QStringList lines;
    const QString state = state_of(entry);
    if (!state.isEmpty() && !entry.growing) lines += QStringLiteral("■ ") + state;
    if (entry.turn.read_again && !entry.growing)
        lines += tr("%1 tokens read again for this answer; %2 of them were held")
                     .arg(count_text(entry.turn.read_again->tokens), share_text(entry.turn.read_again->held));
    if (!entry.turn.provenance || entry.growing || !entry.is_newest()) return lines.join(QLatin1Char('\n'));
    const Provenance& from = *entry.turn.provenance;
    if (from.quote) lines += lines_of(*from.quote);
    if (from.tokens_in_input > 0) {
        const QString read = tr("%1 of %2 tokens read", nullptr,
                                static_cast<int>(std::min<uint64_t>(from.tokens_in_input, 1u << 30)))
                                 .arg(count_text(from.tokens_read), count_text(from.tokens_in_input));
        const QString kept =
            tr("%1 kept per head", nullptr, from.budget).arg(count_text(static_cast<uint64_t>(from.budget)));
        const uint64_t missing = from.tokens_in_input - std::min(from.tokens_read, from.tokens_in_input);
        lines +=
            tr("%1, %2, %3")
                .arg(read, kept, missing == 0 ? tr("nothing cut") : tr("%1 not read yet").arg(count_text(missing)));
    }
    return lines.join(QLatin1Char('\n'));
}

// ---- actions of a turn

std::vector<TurnAction> TurnList::actions(int turn) const
{
    const ChatEntry& entry = (*this)[turn];
    std::vector<TurnAction> out;
    const bool last = turn + 1 == count();
    if (entry.version > 0) out.push_back(TurnAction::Earlier);
    if (!entry.is_newest()) out.push_back(TurnAction::Later);
    if (!entry.growing || !entry.turn.text.isEmpty()) {
        out.push_back(TurnAction::Copy);
        out.push_back(TurnAction::CopyMarkdown);
    }
    if (is_answer(entry.turn) && last && !answering_) out.push_back(TurnAction::Regenerate);
    if (!is_answer(entry.turn) && entry.turn.message != 0 && !answering_) out.push_back(TurnAction::Branch);
    const bool is_traced = entry.turn.provenance && !entry.growing;
    if (is_traced && entry.turn.provenance->quote) out.push_back(TurnAction::ShowQuote);
    if (is_traced && !entry.turn.provenance->sources.empty()) out.push_back(TurnAction::ShowSources);
    return out;
}

QString TurnList::action_label(int turn, TurnAction action) const
{
    const ChatEntry& entry = (*this)[turn];
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
    case TurnAction::ShowQuote:
        return tr("Show the sentence");
    }
    return {};
}

} // namespace palimpsest::ui
