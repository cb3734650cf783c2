// The turns of a stored session.
#include "storage/session/stored_session.h"

#include <algorithm>

#include "engine/text/detokenizer.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"

namespace palimpsest::storage {
namespace {

constexpr auto answer_save_interval = std::chrono::seconds(1); // docs/validation.md, P1
constexpr size_t answer_save_tokens = 256;

} // namespace

std::optional<int64_t> StoredSession::last_message() const
{
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
        if (part->message) return part->message;
    return std::nullopt;
}

std::vector<engine::TokenId> StoredSession::turn(const std::string& message) const
{
    std::vector<engine::TokenId> ids;
    const auto add = [&](const std::vector<engine::TokenId>& more) {
        ids.insert(ids.end(), more.begin(), more.end());
    };
    if (parts_.empty()) {
        add(template_->open_user());
        add(template_->message(message, true));
    } else if (parts_.back().document) {
        add(template_->question(message));
    } else {
        add(template_->close_assistant_open_user());
        add(template_->message(message, false));
    }
    add(template_->close_user_open_assistant());
    return ids;
}

// Back to a state from before the message, and forward again to just before it.
void StoredSession::undo()
{
    if (!store_turns()) throw *not_stored_;
    const auto messages = store_.conversations.messages(info_.id);
    const auto last =
        std::find_if(messages.rbegin(), messages.rend(), [](const Message& m) { return m.role == Role::User; });
    if (last == messages.rend())
        throw Error(ErrorKind::NotFound, "PAL-SESSION-04", "session '" + printable(info_.name) + "'",
                    "there is no message to take back", "say something first");
    const auto part =
        std::find_if(parts_.begin(), parts_.end(), [&](const StreamPart& p) { return p.message == last->id; });
    if (std::any_of(part, parts_.end(), [](const StreamPart& p) { return p.document.has_value(); }))
        throw Error(ErrorKind::Usage, "PAL-SESSION-05", "session '" + printable(info_.name) + "'",
                    "a document was read after the last message", "go on, or fork the session at an earlier time");
    const std::vector<StreamPart> kept(parts_.begin(), part);
    store_.database.transaction([&] {
        uint64_t tokens = 0;
        for (const StreamPart& p : kept)
            tokens += p.tokens;
        store_.conversations.remove_messages_from(info_.id, last->id);
        store_.snapshots.remove_after(info_.id, tokens);
        pins_->drop_after(tokens);
    });
    unread_.clear();
    with_fallback([&] {
        resume();
        watch_fading();
        catch_up(true);
    });
    choose_sampling();
    with_fallback([&] { save(); });
}

engine::GenerateResult StoredSession::say(const std::string& message, const engine::GenerateOptions& options)
{
    if (!with_fallback([&] { return read_rest(options.stop); })) {
        listener_.note("the question before is not read to its end yet; say it again");
        return {.tokens = {}, .end = engine::GenerateEnd::Cancelled};
    }
    if (position() != planned())
        throw Error(ErrorKind::Usage, "PAL-SESSION-03", "session '" + printable(info_.name) + "'",
                    "its document is not read to its end yet",
                    "let it go on first: palimpsest read FILE --session " + printable(info_.name));
    check_message(message);
    if (!sampling_is_stored_)
        with_fallback([&] { save_if_there_is_room(); }); // so that an answer cut short can be generated again
    with_fallback([&] { listener_.turn_begins(*session_); });
    Turn& turn = begin_turn(message);
    store_turns();
    unread_ = turn.question.ids;
    try {
        if (!with_fallback([&] { return read_rest(options.stop); }))
            return end_turn(turn, {.tokens = {}, .end = engine::GenerateEnd::Cancelled});
    } catch (...) {
        turn.reply.state = MessageState::Stopped;
        throw;
    }
    return end_turn(turn, grow(turn, options));
}

engine::GenerateResult StoredSession::grow(Turn& turn, const engine::GenerateOptions& options)
{
    Message& reply = turn.reply;
    engine::IncrementalDetokenizer detokenizer(*tokenizer_, false);
    auto stored_at = Clock::now();
    size_t stored_tokens = 0;
    engine::GenerateOptions growing = options;
    growing.token = [&](engine::TokenId id) {
        reply.ids.push_back(id);
        reply.text += detokenizer.push(id);
        if (Clock::now() - stored_at >= answer_save_interval ||
            reply.ids.size() - stored_tokens >= answer_save_tokens) {
            store_turns();
            stored_at = Clock::now();
            stored_tokens = reply.ids.size();
        }
        return !options.token || options.token(id);
    };
    try {
        engine::GenerateResult result = generate(turn, growing);
        reply.text += detokenizer.finish();
        return result;
    } catch (...) { // what was said until then is in the cache
        parts_.back().tokens = reply.ids.size();
        reply.state = MessageState::Stopped;
        throw;
    }
}

// Where the device fails, the answer goes on behind what was said of it.
engine::GenerateResult StoredSession::generate(Turn& turn, const engine::GenerateOptions& options)
{
    engine::GenerateOptions rest = options;
    engine::GenerateResult result = with_fallback([&] {
        rest.max_tokens = options.max_tokens - static_cast<int32_t>(turn.reply.ids.size());
        return session_->generate(rest);
    });
    result.tokens = turn.reply.ids;
    return result;
}

// Before anything of it is stored: what can never be fed would keep the session from going on.
void StoredSession::check_message(const std::string& message) const
{
    constexpr uint64_t most_bytes = 16 << 20; // of a transaction (docs/validation.md, L18)
    const auto tokens = this->turn(message).size();
    if (message.size() + tokens * sizeof(engine::TokenId) > most_bytes)
        throw Error(ErrorKind::Usage, "PAL-SESSION-08", "message",
                    "it has " + format_bytes(message.size()) + ", which is too much for a turn",
                    "read it as a document: palimpsest read FILE --session " + printable(info_.name));
    session_->require_room(static_cast<int64_t>(tokens));
}

bool StoredSession::read_rest(std::stop_token stop)
{
    keep_question_in_mind(false);
    const uint64_t begin = position();
    const auto forget_what_was_fed = [&] {
        unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(position() - begin));
    };
    try {
        const bool all = try_feed(unread_, std::move(stop));
        forget_what_was_fed();
        return all;
    } catch (...) {
        forget_what_was_fed();
        throw;
    }
}

engine::GenerateResult StoredSession::end_turn(Turn& turn, engine::GenerateResult result)
{
    Message& reply = turn.reply;
    reply.state = result.end == engine::GenerateEnd::EndOfText ? MessageState::Complete
                  : result.end == engine::GenerateEnd::Length || result.end == engine::GenerateEnd::Full
                      ? MessageState::Cut
                      : MessageState::Stopped;
    parts_.back().tokens = reply.ids.size();
    if (!store_turns()) return result;
    try {
        with_fallback([&] { save_if_there_is_room(); });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::Resources) throw;
        not_stored_ = error;
    }
    return result;
}

StoredSession::Turn& StoredSession::begin_turn(const std::string& message)
{
    Turn& turn =
        turns_.emplace_back(Turn{.question = {.role = Role::User, .text = message, .ids = this->turn(message)},
                                 .reply = {.role = Role::Assistant, .state = MessageState::Growing},
                                 .part = parts_.size()});
    parts_.push_back({.tokens = turn.question.ids.size()});
    parts_.push_back({});
    return turn;
}

const Message* StoredSession::waiting_message(size_t part) const
{
    for (const Turn& turn : turns_) {
        if (turn.part == part) return &turn.question;
        if (turn.part + 1 == part) return &turn.reply;
    }
    return nullptr;
}

bool StoredSession::store_turns()
{
    if (not_stored_ && not_stored_->code() == "PAL-DISK-02") return false; // no second try (docs/validation.md, P5)
    if (turns_.empty()) {
        not_stored_.reset();
        return true;
    }
    try {
        store_.database.transaction([&] {
            std::optional<int64_t> parent = last_message();
            for (Turn& turn : turns_) {
                put(turn, parent);
                parent = turn.reply.id;
            }
        });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::Resources) throw;
        not_stored_ = error;
        return false;
    }
    for (Turn& turn : turns_) {
        parts_[turn.part].message = turn.question.id;
        parts_[turn.part + 1].message = turn.reply.id;
        turn.stored = true;
    }
    turns_.remove_if([](const Turn& turn) { return turn.reply.state != MessageState::Growing; });
    not_stored_.reset();
    return true;
}

void StoredSession::put(Turn& turn, std::optional<int64_t> parent)
{
    if (turn.stored) return store_.conversations.update_message(turn.reply);
    if (turn.replaces) return replace_answer(turn);
    turn.question.parent = parent;
    turn.question.id = store_.conversations.add_message(info_.id, turn.question);
    turn.reply.parent = turn.question.id;
    turn.reply.id = store_.conversations.add_message(info_.id, turn.reply);
    store_.conversations.append(info_.id, {.message = turn.question.id});
    store_.conversations.append(info_.id, {.message = turn.reply.id});
}

} // namespace palimpsest::storage
