#include "ui/engine/answer_sources.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "engine/session/attention_trace.h"
#include "storage/session/answer_provenance.h"
#include "ui/engine/memory_left.h"
#include "ui/engine/provenance.h"

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

void AnswerSources::note_provenance()
try {
    const auto before = std::exchange(before_turn_, std::nullopt);
    storage::StoredSession& session = open_.require_session();
    if (listener_.stop().stop_requested()) return;
    const auto turn = storage::last_turn(session);
    if (!turn) return;
    const storage::Message &question = turn->question, &answer = turn->answer;
    const auto support =
        found_ ? session.support_of(answer.text, question.text, *found_) : storage::AnswerSupport();
    Provenance provenance = storage::provenance_of(session, *turn, support);
    open_.set_provenance(answer.id, provenance); // even if tracing fails
    const uint64_t turn_tokens = question.ids.size() + answer.ids.size();
    const bool is_long = !question.read_again.empty() && !fits_context(session.session(), turn_tokens);
    if (provenance.is_from_sources_alone || !before || is_long || !may_trace(session.session(), turn_tokens))
        return;
    provenance.sources = sources_of(question, answer.ids, *before);
    open_.set_provenance(answer.id, std::move(provenance));
} catch (const Error& error) {
    listener_.note(sentence_of(error));
} catch (const std::exception& error) {
    listener_.note(Text::verbatim(error.what()));
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
