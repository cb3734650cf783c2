#include "ui/engine/answer_sources.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "engine/session/attention_trace.h"
#include "storage/session/answer_provenance.h"
#include "ui/engine/heaviest_passages.h"
#include "ui/engine/memory_left.h"

namespace palimpsest::ui {
namespace {

// Whether device and host have enough memory for tracing, which copies the cache.
bool may_trace(const engine::Session& session, uint64_t turn_tokens)
{
    const uint64_t needed = trace_bytes(session.model().config(), session.telemetry(), turn_tokens);
    return needed <= std::min(memory_left(session.model()), memory_of_machine());
}

// Whether attention can be traced over a turn of so many tokens beside all that may be kept. Passages that are read
// again make turns longer; their sentence is quoted all the same.
bool fits_context(const engine::Session& session, uint64_t turn_tokens)
{
    const engine::SessionOptions& options = session.options();
    const auto context = static_cast<uint64_t>(session.model().config().context);
    return options.budget == engine::no_budget || static_cast<uint64_t>(options.budget) + turn_tokens <= context;
}

Text sentence_of(const std::exception& error)
{
    const auto* known = dynamic_cast<const Error*>(&error);
    return known ? palimpsest::sentence_of(*known) : Text::verbatim(error.what());
}

} // namespace

void AnswerSources::keep_state(engine::Session& session)
{
    before_turn_.reset();
    if (!may_trace(session, 0)) return;
    try {
        before_turn_ = session.state();
    } catch (const std::bad_alloc&) {
    }
}

storage::AnswerSupport AnswerSources::support_of(const storage::StoredTurn& turn)
{
    if (found_ && found_->question == 0) found_->question = turn.question.id;
    const bool is_of_question = found_ && found_->question == turn.question.id;
    return open_.require_session().support_of(
        turn.answer.text, turn.question.text,
        is_of_question ? found_->passages : storage::read_again_by(turn.question, open_.store()));
}

bool AnswerSources::may_be_traced(const storage::StoredTurn& turn)
{
    const engine::Session& session = open_.require_session().session();
    const uint64_t tokens = turn.question.ids.size() + turn.answer.ids.size();
    const bool is_long = !turn.question.read_again.empty() && !fits_context(session, tokens);
    return !is_long && may_trace(session, tokens);
}

void AnswerSources::note_provenance()
try {
    const auto before = std::exchange(before_turn_, std::nullopt);
    storage::StoredSession& session = open_.require_session();
    if (listener_.stop().stop_requested()) return;
    const auto turn = storage::last_turn(session);
    if (!turn) return;
    Provenance provenance = storage::provenance_of(session, *turn, support_of(*turn));
    try {
        if (!provenance.is_from_sources_alone && before && may_be_traced(*turn))
            provenance.sources = sources_of(turn->question, turn->answer.ids, *before);
    } catch (const std::exception& error) {
        listener_.note(sentence_of(error));
    }
    open_.set_provenance(turn->answer.id, std::move(provenance));
} catch (const std::exception& error) {
    listener_.note(sentence_of(error));
}

std::vector<Provenance::Source> AnswerSources::sources_of(const storage::Message& question,
                                                          std::span<const engine::TokenId> answer,
                                                          const engine::SessionState& before) const
{
    storage::StoredSession& session = open_.require_session();
    const auto texts = storage::texts_in(session.parts(), question.read_again);
    std::vector<StreamRange> ranges(texts.size());
    std::transform(texts.begin(), texts.end(), ranges.begin(), [](const auto& text) { return text.range; });
    auto sources = heaviest_passages(
        engine::attention_trace(session.shared_model(), before, question.ids, answer, listener_.stop()), ranges);
    for (Provenance::Source& source : sources) {
        source.held =
            session.held({static_cast<uint32_t>(source.range.first), static_cast<uint32_t>(source.range.last)});
        storage::show_in_document(source, texts);
    }
    return sources;
}

} // namespace palimpsest::ui
