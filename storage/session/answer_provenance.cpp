#include "storage/session/answer_provenance.h"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/passages/passage_places.h"

namespace palimpsest::storage {
namespace {

std::optional<int64_t> message_id(const StreamPart& part)
{
    const StreamMessage* message = message_in(part);
    return message ? message->id : std::nullopt;
}

// Absent if its document is not in the stream.
std::optional<QuotedSentence> quoted(const AnswerSupport& support, StoredSession& session)
{
    if (!support.quote) return std::nullopt;
    const StoredPassage& place = support.quote->place;
    PassagePlaces places(session.store().library);
    for (const TextInStream& text : texts_in(session.parts(), {}))
        if (text.document == place.document)
            return QuotedSentence{
                .text = support.quote->text,
                .place = places.name(place, false),
                .range = {text.range.first + place.first_token, text.range.first + place.end_token},
                .pages = places.pages(place),
                .unsupported = support.unsupported};
    return std::nullopt;
}

std::vector<Provenance::Source> sources_of(const Message& question, StoredSession& session)
{
    std::vector<Provenance::Source> sources;
    const double weight = 1.0 / static_cast<double>(std::max<size_t>(question.read_again.size(), 1));
    const std::vector<TextInStream> texts = texts_in(session.parts(), question.read_again);
    for (const TextInStream& text : texts) {
        if (!text.read_again) continue;
        sources.push_back({.range = text.range, .weight = weight, .held = 1});
        show_in_document(sources.back(), texts);
    }
    return sources;
}

} // namespace

std::optional<StoredTurn> last_turn(StoredSession& session)
{
    const std::vector<StreamPart>& parts = session.parts();
    if (parts.size() < 2) return std::nullopt;
    const auto asked = message_id(parts[parts.size() - 2]), answered = message_id(parts.back());
    if (!asked || !answered || session.waiting_message(parts.size() - 1)) return std::nullopt;
    auto question = session.store().conversations.message(*asked);
    auto answer = session.store().conversations.message(*answered);
    if (!question || !answer) return std::nullopt;
    return StoredTurn{.question = std::move(*question), .answer = std::move(*answer)};
}

std::vector<TextInStream> texts_in(const std::vector<StreamPart>& stream, const std::vector<ReadAgain>& read_again)
{
    std::vector<TextInStream> texts;
    std::map<int64_t, uint64_t> documents; // where each begins
    uint64_t begin = 0, question = 0;
    for (size_t i = 0; i < stream.size(); ++i) {
        if (i + 2 == stream.size()) question = begin;
        const uint64_t end = begin + tokens_of(stream[i]);
        if (const StreamDocument* document = document_in(stream[i])) {
            texts.push_back({.range = {begin, end}, .document = document->id, .in_document = begin});
            documents.emplace(document->id, begin);
        }
        begin = end;
    }
    for (const ReadAgain& passage : read_again)
        if (const auto document = documents.find(passage.document); document != documents.end())
            texts.push_back({.range = {question + passage.at, question + passage.at + passage.tokens()},
                             .document = passage.document,
                             .read_again = true,
                             .in_document = document->second + passage.first_token});
    return texts;
}

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

Provenance provenance_of(StoredSession& session, const StoredTurn& turn, const AnswerSupport& support)
{
    const Coverage coverage = session.coverage();
    Provenance provenance{.tokens_in_input = coverage.tokens_in_input,
                          .tokens_read = coverage.tokens_read,
                          .budget = session.session().options().budget,
                          .is_from_sources_alone = session.was_written_apart(),
                          .quote = quoted(support, session)};
    if (provenance.is_from_sources_alone) provenance.sources = sources_of(turn.question, session);
    return provenance;
}

} // namespace palimpsest::storage
