#include "ui/engine/answer_sources.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "engine/session/attention_trace.h"
#include "storage/stream_part.h"
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

std::optional<int64_t> message_id(const storage::StreamPart& part)
{
    const storage::StreamMessage* message = storage::message_in(part);
    return message ? message->id : std::nullopt;
}

std::vector<StreamRange> documents_in(const std::vector<storage::StreamPart>& stream)
{
    std::vector<StreamRange> documents;
    uint64_t begin = 0;
    for (const storage::StreamPart& part : stream) {
        const uint64_t end = begin + tokens_of(part);
        if (storage::document_in(part)) documents.push_back({begin, end});
        begin = end;
    }
    return documents;
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
    const std::vector<storage::StreamPart>& parts = session.parts();
    if (!before || parts.size() < 2 || !message_id(parts.back()) || listener_.stop().stop_requested()) return;
    storage::Conversations& conversations = open_.store().conversations;
    const auto question = conversations.message(message_id(parts[parts.size() - 2]).value_or(0));
    const auto answer = conversations.message(*message_id(parts.back()));
    if (!question || !answer || !may_trace(session.session(), question->ids.size() + answer->ids.size())) return;
    open_.set_provenance(answer->id, provenance_of(question->ids, answer->ids, *before));
} catch (const Error& error) {
    listener_.note(sentence_of(error));
} catch (const std::exception& error) {
    listener_.note(Text::verbatim(error.what()));
}

Provenance AnswerSources::provenance_of(std::span<const engine::TokenId> question,
                                        std::span<const engine::TokenId> answer, const engine::SessionState& before)
{
    storage::StoredSession& session = open_.require_session();
    const storage::Coverage coverage = session.coverage();
    Provenance provenance{.tokens_in_input = coverage.tokens_in_input,
                          .tokens_read = coverage.tokens_read,
                          .budget = session.session().options().budget,
                          .sources = {}};
    provenance.sources = heaviest_passages(
        engine::attention_trace(session.shared_model(), before, question, answer, listener_.stop()),
        documents_in(session.parts()));
    for (Provenance::Source& source : provenance.sources)
        source.held =
            session.held({static_cast<uint32_t>(source.range.first), static_cast<uint32_t>(source.range.last)});
    return provenance;
}

} // namespace palimpsest::ui
