#include "storage/session/turn_journal.h"

#include <utility>

namespace palimpsest::storage {

Turn& TurnJournal::begin(const std::string& message, std::vector<engine::TokenId> ids,
                         std::vector<ReadAgain> read_again)
{
    SessionStream& stream = context_.stream;
    const uint64_t tokens = ids.size();
    Turn& turn = turns_.emplace_back(Turn{.question = {.role = Role::User,
                                                       .text = message,
                                                       .ids = std::move(ids),
                                                       .read_again = std::move(read_again)},
                                          .reply = {.role = Role::Assistant, .state = MessageState::Growing},
                                          .part = stream.size()});
    stream.append(StreamMessage{.tokens = tokens});
    stream.append(StreamMessage{});
    return turn;
}

Turn& TurnJournal::begin_replacement(const Message& question, const Replacement& replacement)
{
    Turn& turn = turns_.emplace_back(
        Turn{.question = question,
             .reply = {.parent = question.id, .role = Role::Assistant, .state = MessageState::Growing},
             .part = context_.stream.size() - 1,
             .replacement = replacement});
    context_.stream.append(StreamMessage{});
    return turn;
}

void TurnJournal::drop_unstored_replacements()
{
    std::erase_if(turns_, [](const Turn& turn) { return turn.replacement && !turn.stored; });
}

const Message* TurnJournal::waiting_message(size_t part) const
{
    for (const Turn& turn : turns_) {
        if (turn.part == part) return &turn.question;
        if (turn.part + 1 == part) return &turn.reply;
    }
    return nullptr;
}

std::optional<engine::SamplerOptions> TurnJournal::sampling_of_replacement(int64_t reply) const
{
    for (const Turn& turn : turns_)
        if (turn.replacement && turn.reply.id == reply) return turn.replacement->sampling;
    return std::nullopt;
}

void TurnJournal::require_stored()
{
    if (!store()) throw *failure_;
}

bool TurnJournal::store()
{
    // Writing again to a failing disk could damage what is there.
    if (failure_ && failure_->code() == ErrorCode::DiskFailed) return false;
    if (turns_.empty()) {
        failure_.reset();
        return true;
    }
    try {
        context_.store.database.transaction([&] {
            std::optional<int64_t> parent = context_.stream.last_message();
            for (Turn& turn : turns_) {
                put(turn, parent);
                parent = turn.reply.id;
            }
        });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::Resources) throw;
        failure_ = error;
        return false;
    }
    for (Turn& turn : turns_) {
        context_.stream.set_message_id(turn.part, turn.question.id);
        context_.stream.set_message_id(turn.part + 1, turn.reply.id);
        turn.stored = true;
    }
    turns_.remove_if([](const Turn& turn) { return turn.reply.state != MessageState::Growing; });
    failure_.reset();
    return true;
}

void TurnJournal::put(Turn& turn, std::optional<int64_t> parent)
{
    Conversations& conversations = context_.store.conversations;
    const int64_t session = context_.info.id;
    if (turn.stored) return conversations.update_message(turn.reply);
    if (turn.replacement) return replace_answer(turn);
    turn.question.parent = parent;
    turn.question.id = conversations.add_message(session, turn.question);
    turn.reply.parent = turn.question.id;
    turn.reply.id = conversations.add_message(session, turn.reply);
    conversations.append(session, StreamMessage{.id = turn.question.id});
    conversations.append(session, StreamMessage{.id = turn.reply.id});
}

// Checkpoints and fade records that contain the old answer are removed with it.
void TurnJournal::replace_answer(Turn& turn)
{
    Conversations& conversations = context_.store.conversations;
    const int64_t session = context_.info.id;
    turn.reply.id = conversations.add_message(session, turn.reply);
    conversations.replace_in_stream(session, turn.replacement->answer, turn.reply.id);
    context_.store.snapshots.remove_after(session, context_.stream.tokens_before(turn.part));
    conversations.drop_fade_record_after(session, turn.replacement->restored_at);
    conversations.set_pins(session, context_.pins->all());
}

} // namespace palimpsest::storage
