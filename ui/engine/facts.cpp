#include "ui/engine/facts.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <unordered_map>

#include "storage/notes/notes.h"
#include "storage/session/retention_report.h"
#include "storage/session/session_settings.h"
#include "ui/base/utf8.h"
#include "ui/base/wording.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {
namespace {

// The messages of a session, indexed by id so that building the facts takes time linear in their number.
class Messages {
public:
    explicit Messages(const std::vector<storage::Message>& all)
    {
        for (const storage::Message& message : all) {
            by_id_.emplace(message.id, &message);
            if (message.role == storage::Role::Assistant && message.parent)
                answers_[*message.parent].push_back(&message);
        }
    }

    const storage::Message* find(int64_t id) const
    {
        const auto at = by_id_.find(id);
        return at == by_id_.end() ? nullptr : at->second;
    }
    // Returns the texts of older answers to the same question; each regenerated answer is one more child of it.
    std::vector<QString> earlier(const storage::Message& answer, int64_t id) const
    {
        std::vector<QString> earlier;
        const auto all = answer.parent ? answers_.find(*answer.parent) : answers_.end();
        if (all == answers_.end()) return earlier;
        for (const storage::Message* other : all->second)
            if (id == 0 || other->id < id) earlier.push_back(text_of(other->text));
        return earlier;
    }

private:
    std::unordered_map<int64_t, const storage::Message*> by_id_;
    std::unordered_map<int64_t, std::vector<const storage::Message*>> answers_; // by question
};

std::optional<ReadAgainNote> note_of(const std::vector<storage::ReadAgain>& passages)
{
    if (passages.empty()) return std::nullopt;
    ReadAgainNote note;
    for (const storage::ReadAgain& passage : passages) {
        note.tokens += passage.tokens();
        note.held += passage.held * static_cast<double>(passage.tokens());
    }
    note.held /= static_cast<double>(std::max<uint64_t>(note.tokens, 1));
    return note;
}

// Returns the message of this part of the stream if the message is not stored yet, else null.
using Waiting = std::function<const storage::Message*(size_t part)>;

class Teller {
public:
    Teller(SessionFacts& facts, storage::Store& store, const std::map<int64_t, Provenance>& provenances,
           KnownDocuments& known)
        : facts_(facts), store_(store), provenances_(provenances), known_(known),
          stored_(store.conversations.messages(facts.id)), messages_(stored_)
    {
    }

    void tell(const std::vector<storage::StreamPart>& stream, const Waiting& waiting)
    {
        uint64_t begin = 0;
        for (size_t i = 0; i < stream.size(); ++i) {
            const storage::StreamPart& part = stream[i];
            const StreamRange range{begin, begin + tokens_of(part)};
            begin = range.last;
            if (const auto* document = storage::document_in(part)) {
                facts_.documents.push_back({.info = store_.library.get(document->id),
                                            .range = range,
                                            .sections = known_.sections(document->id, store_),
                                            .pages = known_.pages(document->id, store_),
                                            .stretches = known_.stretches(document->id, store_)});
                if (noted_.insert(document->id).second) // a document can be in the stream twice
                    std::ranges::move(storage::Notes(store_.database).of(facts_.id, document->id),
                                      std::back_inserter(facts_.notes));
            }
            const auto* part_message = storage::message_in(part);
            if (!part_message) continue;
            const storage::Message* message = waiting(i);
            if (!message && part_message->id) message = messages_.find(*part_message->id);
            if (!message) continue;
            if (message->role == storage::Role::User) asked_ = message;
            facts_.turns.push_back(turn_of(*message, part_message->id.value_or(0), range));
        }
    }

private:
    std::set<int64_t> noted_; // documents whose notes were told
    Turn turn_of(const storage::Message& message, int64_t id, StreamRange range) const
    {
        Turn turn{.message = id,
                  .role = message.role,
                  .state = message.state,
                  .text = text_of(message.text),
                  .range = range,
                  .earlier = {},
                  .read_again = std::nullopt,
                  .provenance = std::nullopt,
                  .damaged = message.damaged};
        if (message.role == storage::Role::Assistant) turn.earlier = messages_.earlier(message, id);
        if (message.role == storage::Role::Assistant && asked_) turn.read_again = note_of(asked_->read_again);
        if (const auto known = provenances_.find(id); known != provenances_.end()) turn.provenance = known->second;
        return turn;
    }

    SessionFacts& facts_;
    storage::Store& store_;
    const std::map<int64_t, Provenance>& provenances_;
    KnownDocuments& known_;
    const std::vector<storage::Message> stored_;
    const Messages messages_;
    const storage::Message* asked_ = nullptr; // the last question so far
};

SessionFacts::NotStored not_stored(const Error& why)
{
    if (why.code() != ErrorCode::DiskFull) return {shown(why), false}; // false: the database accepts no more turns
    return {EngineThread::tr("What was said last is not saved, and stays open here: %1").arg(shown(why)), true};
}

// Fills in settings that are known without the model; a policy of a newer version is left unset.
void tell_settings(SessionFacts& facts, const storage::SessionInfo& session)
try {
    const storage::SessionSettings settings(session);
    facts.policy = text_of(settings.policy);
    facts.system = text_of(settings.system);
    facts.options.budget = settings.budget;
    facts.options.chunk = settings.chunk;
    facts.options.policy = engine::PolicySpec::parse(settings.policy);
} catch (const Error&) {
}

std::shared_ptr<const storage::RetentionReport> report_of(storage::StoredSession& session, bool saved)
{
    auto report = std::make_shared<storage::RetentionReport>(storage::RetentionReport::of(session));
    report->session = session.name();
    if (!saved) report->stored.reset(); // nothing is stored: its database is in memory
    return report;
}

} // namespace

uint64_t document_tokens_read(const std::vector<DocumentPart>& documents, uint64_t computed)
{
    uint64_t tokens = 0;
    for (const DocumentPart& document : documents)
        tokens += std::clamp(computed, document.range.first, document.range.last) - document.range.first;
    return tokens;
}

SessionFacts facts_of(storage::StoredSession& session, storage::Store& store, bool saved,
                      const std::map<int64_t, Provenance>& provenances, KnownDocuments& known)
{
    const engine::ModelConfig& model = session.model().config();
    const auto report = report_of(session, saved);
    SessionFacts facts{.id = session.id(),
                       .name = text_of(session.name()),
                       .model_name = text_of(model.name),
                       .device = text_of(session.model().backend().name()),
                       .layers = model.layers,
                       .kv_heads = model.kv_heads,
                       .options = session.session().options(),
                       .policy = text_of(session.session().options().policy.text()),
                       .documents = {},
                       .turns = {},
                       .pins = session.pins(),
                       .tokens_in_input = report->coverage.tokens_in_input,
                       .tokens_read = report->coverage.tokens_read,
                       .saved = saved,
                       .system = text_of(session.system()),
                       .has_begun = !session.is_new(),
                       .report = report};
    if (session.why_waiting()) facts.not_stored = not_stored(*session.why_waiting());
    Teller(facts, store, provenances, known).tell(session.parts(), [&](size_t part) {
        return session.waiting_message(part);
    });
    return facts;
}

SessionFacts stored_facts(const storage::SessionInfo& session, storage::Store& store, const QString& why,
                          const std::map<int64_t, Provenance>& provenances, KnownDocuments& known)
{
    SessionFacts facts{.id = session.id,
                       .name = text_of(session.name),
                       .model_name = text_of(session.model_name),
                       .device = {},
                       .options = {},
                       .policy = {},
                       .documents = {},
                       .turns = {},
                       .pins = store.conversations.pins(session.id),
                       .text_only = why,
                       .has_begun = true};
    tell_settings(facts, session);
    Teller(facts, store, provenances, known).tell(store.conversations.stream(session.id), [](size_t) {
        return nullptr;
    });
    for (const DocumentPart& document : facts.documents)
        facts.tokens_in_input += document.range.last - document.range.first;
    const auto states = store.snapshots.of(session.id);
    facts.tokens_read = document_tokens_read(facts.documents, states.empty() ? 0 : states.front().tokens_seen);
    return facts;
}

} // namespace palimpsest::ui
