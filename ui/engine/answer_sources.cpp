#include "ui/engine/answer_sources.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "engine/session/attention_trace.h"
#include "storage/passages/passage_places.h"
#include "storage/stream_part.h"
#include "ui/base/utf8.h"
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

std::optional<int64_t> message_id(const storage::StreamPart& part)
{
    const storage::StreamMessage* message = storage::message_in(part);
    return message ? message->id : std::nullopt;
}

// A document, or a passage of one that the last question read again.
struct TextInStream {
    StreamRange range;
    int64_t document = 0;
    bool read_again = false;
    uint64_t in_document = 0; // stream index of its first token in the document
};

// Ascending. REQUIRES: the stream ends with the question and its answer.
std::vector<TextInStream> texts_in(const std::vector<storage::StreamPart>& stream,
                                   const std::vector<storage::ReadAgain>& read_again)
{
    std::vector<TextInStream> texts;
    std::map<int64_t, uint64_t> documents; // where each begins
    uint64_t begin = 0, question = 0;
    for (size_t i = 0; i < stream.size(); ++i) {
        if (i + 2 == stream.size()) question = begin;
        const uint64_t end = begin + tokens_of(stream[i]);
        if (const auto* document = storage::document_in(stream[i])) {
            texts.push_back({.range = {begin, end}, .document = document->id, .in_document = begin});
            documents.emplace(document->id, begin);
        }
        begin = end;
    }
    for (const storage::ReadAgain& passage : read_again)
        if (const auto document = documents.find(passage.document); document != documents.end())
            texts.push_back({.range = {question + passage.at, question + passage.at + passage.tokens()},
                             .document = passage.document,
                             .read_again = true,
                             .in_document = document->second + passage.first_token});
    return texts;
}

// Moves a source in what was read again to its place in the document.
void show_in_document(Provenance::Source& source, const std::vector<TextInStream>& texts)
{
    for (const TextInStream& text : texts) {
        if (!text.read_again || source.range.first < text.range.first || source.range.last > text.range.last)
            continue;
        const uint64_t first = text.in_document + source.range.first - text.range.first;
        source.range = {first, first + source.range.last - source.range.first};
        source.read_again = true;
        return;
    }
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
    if (parts.size() < 2 || !message_id(parts.back()) || listener_.stop().stop_requested()) return;
    storage::Conversations& conversations = open_.store().conversations;
    const auto question = conversations.message(message_id(parts[parts.size() - 2]).value_or(0));
    const auto answer = conversations.message(*message_id(parts.back()));
    if (!question || !answer) return;
    Provenance provenance = coverage();
    provenance.quote = quote_of(question->text, answer->text);
    provenance.is_from_sources_alone = session.was_written_apart();
    if (provenance.is_from_sources_alone) provenance.sources = sentences_of(*question);
    open_.set_provenance(answer->id, provenance); // even if tracing fails
    const bool is_long = !question->read_again.empty() &&
                         !fits_context(session.session(), question->ids.size() + answer->ids.size());
    if (provenance.is_from_sources_alone || !before || is_long ||
        !may_trace(session.session(), question->ids.size() + answer->ids.size()))
        return;
    provenance.sources = sources_of(*question, answer->ids, *before);
    open_.set_provenance(answer->id, std::move(provenance));
} catch (const Error& error) {
    listener_.note(sentence_of(error));
} catch (const std::exception& error) {
    listener_.note(Text::verbatim(error.what()));
}

Provenance AnswerSources::coverage() const
{
    storage::StoredSession& session = open_.require_session();
    const storage::Coverage coverage = session.coverage();
    return {.tokens_in_input = coverage.tokens_in_input,
            .tokens_read = coverage.tokens_read,
            .budget = session.session().options().budget,
            .sources = {}};
}

std::optional<QuotedSentence> AnswerSources::quote_of(const std::string& question, const std::string& answer) const
{
    if (!found_) return std::nullopt;
    storage::StoredSession& session = open_.require_session();
    const storage::AnswerSupport support = session.support_of(answer, question, *found_);
    if (!support.quote) return std::nullopt;
    QuotedSentence quote{
        .text = text_of(support.quote->text),
        .place = text_of(storage::PassagePlaces(open_.store().library).name(support.quote->place, false)),
        .range = {},
        .unsupported = {}};
    for (const std::string& thing : support.unsupported)
        quote.unsupported.push_back(text_of(thing));
    for (const TextInStream& text : texts_in(session.parts(), {})) {
        if (text.document != support.quote->place.document) continue;
        quote.range = {text.range.first + support.quote->place.first_token,
                       text.range.first + support.quote->place.end_token};
        return quote;
    }
    return std::nullopt;
}

// What the question has read again.
std::vector<Provenance::Source> AnswerSources::sentences_of(const storage::Message& question) const
{
    std::vector<Provenance::Source> sources;
    const double weight = 1.0 / static_cast<double>(std::max<size_t>(question.read_again.size(), 1));
    const std::vector<TextInStream> texts = texts_in(open_.require_session().parts(), question.read_again);
    for (const TextInStream& text : texts) {
        if (!text.read_again) continue;
        sources.push_back({.range = text.range, .weight = weight, .held = 1});
        show_in_document(sources.back(), texts);
    }
    return sources;
}

std::vector<Provenance::Source> AnswerSources::sources_of(const storage::Message& question,
                                                          std::span<const engine::TokenId> answer,
                                                          const engine::SessionState& before) const
{
    storage::StoredSession& session = open_.require_session();
    const std::vector<TextInStream> texts = texts_in(session.parts(), question.read_again);
    std::vector<StreamRange> ranges(texts.size());
    std::transform(texts.begin(), texts.end(), ranges.begin(), [](const TextInStream& text) { return text.range; });
    auto sources = heaviest_passages(
        engine::attention_trace(session.shared_model(), before, question.ids, answer, listener_.stop()), ranges);
    for (Provenance::Source& source : sources) {
        source.held =
            session.held({static_cast<uint32_t>(source.range.first), static_cast<uint32_t>(source.range.last)});
        show_in_document(source, texts);
    }
    return sources;
}

} // namespace palimpsest::ui
