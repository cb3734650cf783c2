#include "storage/transcript/transcript.h"

#include <nlohmann/json.hpp>
#include <set>

#include "storage/session/list_lengths.h"

namespace palimpsest::storage {
namespace {

using nlohmann::ordered_json;

// The documents of a session's stream, and the places of its tokens in them.
class StreamDocuments {
public:
    StreamDocuments(Library& library, const std::vector<StreamPart>& stream)
    {
        uint64_t begin = 0;
        for (const StreamPart& part : stream) {
            const uint64_t end = begin + tokens_of(part);
            if (const StreamDocument* document = document_in(part))
                all_.push_back({.range = {begin, end},
                                .info = library.get(document->id),
                                .sections = library.sections(document->id),
                                .pages = library.pages(document->id)});
            begin = end;
        }
    }

    std::vector<TranscriptDocument> list() const
    {
        std::vector<TranscriptDocument> documents;
        for (const Known& known : all_)
            documents.push_back({known.info.title, known.info.format, known.info.author, known.info.tokens});
        return documents;
    }

    // The place of the first token of `range`; nullopt if that token is in no document.
    std::optional<TranscriptPlace> place(const StreamRange& range) const
    {
        for (const Known& known : all_) {
            if (range.first < known.range.first || range.first >= known.range.last) continue;
            const uint64_t token = range.first - known.range.first;
            TranscriptPlace place{.document = known.info.title};
            size_t sections = 0; // that begin at or before the token
            while (sections < known.sections.size() && known.sections[sections].first_token <= token)
                ++sections;
            if (sections > 0)
                for (const Section* section : section_path(known.sections, sections - 1))
                    place.section_path.push_back(section->title);
            if (const Page* page = page_of_token(known.pages, token)) place.page = page->label;
            return place;
        }
        return std::nullopt;
    }

private:
    struct Known {
        StreamRange range{};
        DocumentInfo info{};
        std::vector<Section> sections{};
        std::vector<Page> pages{};
    };
    std::vector<Known> all_;
};

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
    if (!quote.page.empty()) place.page = quote.page;
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
