#include "storage/transcript/transcript.h"

#include <nlohmann/json.hpp>
#include <set>

#include "storage/session/list_lengths.h"
#include "storage/transcript/stream_documents.h"

namespace palimpsest::storage {
namespace {

using nlohmann::ordered_json;

void add_provenance(TranscriptMessage& message, const Provenance& provenance, const StreamDocuments& documents)
{
    message.tokens_in_input = provenance.tokens_in_input;
    message.tokens_read = provenance.tokens_read;
    message.budget = provenance.budget;
    for (const Provenance::Source& source : provenance.sources)
        if (auto place = documents.place(source.range))
            message.sources.push_back({std::move(*place), source.weight, source.read_again});
    if (!provenance.quote) return;
    const QuotedSentence& quote = *provenance.quote;
    TranscriptPlace place = documents.place(quote.range).value_or(TranscriptPlace{.document = quote.place});
    if (!quote.pages.empty()) place.pages = quote.pages;
    message.quote = TranscriptQuote{quote.text, std::move(place), quote.unsupported};
}

// Leaves the members empty if the settings cannot be read: the text of a session is worth keeping without them.
void add_settings(Transcript& transcript, const std::string& options)
{
    const auto all = ordered_json::parse(options, nullptr, false);
    if (!all.is_object()) return;
    const auto text = [&](const char* key) {
        const auto found = all.find(key);
        return found != all.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    transcript.policy = text("policy");
    transcript.question = text("question");
    transcript.system = text("system");
    if (const auto budget = all.find("budget"); budget != all.end() && budget->is_number_integer())
        transcript.budget = budget_text(budget->get<int32_t>());
}

} // namespace

Transcript Transcript::of(Store& store, const SessionInfo& session)
{
    Transcript transcript{.name = session.name,
                          .model = session.model_name,
                          .created_ms = session.created_ms,
                          .changed_ms = session.changed_ms};
    add_settings(transcript, session.options);
    const std::vector<StreamPart> stream = store.conversations.stream(session.id);
    const StreamDocuments documents(store.library, stream);
    transcript.documents = documents.list();
    std::set<int64_t> in_stream;
    for (const StreamPart& part : stream)
        if (const StreamMessage* message = message_in(part)) in_stream.insert(*message->id);
    const auto provenances = Provenances(store.database).of(session.id, tokens_of(stream));
    for (Message& stored : store.conversations.messages(session.id)) {
        TranscriptMessage message{.role = stored.role,
                                  .state = stored.state,
                                  .is_damaged = stored.damaged,
                                  .is_replaced = !in_stream.contains(stored.id),
                                  .created_ms = stored.created_ms,
                                  .text = std::move(stored.text)};
        if (const auto known = provenances.find(stored.id); known != provenances.end())
            add_provenance(message, known->second, documents);
        transcript.messages.push_back(std::move(message));
    }
    return transcript;
}

} // namespace palimpsest::storage
