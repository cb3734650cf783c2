#include "ui/engine/facts.h"

#include <unordered_map>

namespace palimpsest::ui {
namespace {

QString text_of(const std::string& utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

// By their numbers, so that a chat of any length is told in one walk.
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
    // Regenerated answers stay beside the one that counts, as other children of their question.
    std::vector<QString> earlier(const storage::Message& answer) const
    {
        std::vector<QString> earlier;
        if (answer.role != storage::Role::Assistant || !answer.parent) return earlier;
        for (const storage::Message* other : answers_.at(*answer.parent))
            if (other->id < answer.id) earlier.push_back(text_of(other->text));
        return earlier;
    }

private:
    std::unordered_map<int64_t, const storage::Message*> by_id_;
    std::unordered_map<int64_t, std::vector<const storage::Message*>> answers_; // by their question
};

Turn turn_of(const storage::Message& message, StreamRange range, const Messages& all,
             const std::map<int64_t, Provenance>& provenances)
{
    Turn turn{.message = message.id,
              .role = message.role,
              .state = message.state,
              .text = text_of(message.text),
              .range = range,
              .earlier = all.earlier(message),
              .provenance = std::nullopt,
              .damaged = message.damaged};
    if (const auto known = provenances.find(message.id); known != provenances.end())
        turn.provenance = known->second;
    return turn;
}

} // namespace

SessionFacts facts_of(storage::StoredSession& session, storage::Store& store, bool saved,
                      const std::map<int64_t, Provenance>& provenances)
{
    const engine::ModelConfig& model = session.model().config();
    const storage::Coverage coverage = session.coverage();
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
                       .tokens_in_input = coverage.tokens_in_input,
                       .tokens_read = coverage.tokens_read,
                       .saved = saved};
    const std::vector<storage::Message> messages = store.conversations.messages(session.id());
    const Messages by_number(messages);
    uint64_t begin = 0;
    for (const storage::StreamPart& part : session.parts()) {
        const StreamRange range{begin, begin + part.tokens};
        begin = range.last;
        if (part.document) {
            facts.documents.push_back({.info = store.library.get(*part.document),
                                       .range = range,
                                       .sections = store.library.sections(*part.document)});
        } else if (part.message) {
            if (const storage::Message* message = by_number.find(*part.message))
                facts.turns.push_back(turn_of(*message, range, by_number, provenances));
        }
    }
    return facts;
}

} // namespace palimpsest::ui
