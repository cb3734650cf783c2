// Another answer or another question in place of one in a stored session.
#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "storage/session/stored_session.h"

namespace palimpsest::storage {

// While it lives, what is computed is not what is stored: nothing is saved, and a stop is the answer's.
class StoredSession::GoingBack {
public:
    GoingBack(StoredSession& session, const std::stop_token& stop) : session_(session)
    {
        session_.saves_ = false;
        session_.goes_back_ = true;
        session_.stop_ = stop;
    }
    ~GoingBack()
    {
        session_.saves_ = true;
        session_.goes_back_ = false;
        session_.stop_.reset();
    }
    GoingBack(const GoingBack&) = delete;
    GoingBack& operator=(const GoingBack&) = delete;

private:
    StoredSession& session_;
};

size_t StoredSession::last_question() const
{
    const auto refuse = [&](ErrorKind kind, const char* code, const char* what, const char* remedy) {
        throw Error(kind, code, "session '" + printable(info_.name) + "'", what, remedy);
    };
    if (!last_message())
        refuse(ErrorKind::NotFound, "PAL-SESSION-04", "there is no message to answer again", "say something first");
    if (!parts_.back().message)
        refuse(ErrorKind::Usage, "PAL-SESSION-05", "a document was read after the last message",
               "ask again, or fork the session at an earlier time");
    return parts_.size() - 2; // messages come in pairs
}

bool StoredSession::go_back_to(size_t question, const std::stop_token& stop)
{
    const GoingBack going(*this, stop);
    parts_ = store_.conversations.stream(info_.id);
    const auto asked = store_.conversations.message(*parts_[question].message);
    if (!asked || asked->damaged)
        throw Error(ErrorKind::Failed, "PAL-DB-03", "session '" + printable(info_.name) + "'",
                    "its last message is damaged", "see what is left: palimpsest sessions show");
    const uint64_t begin = tokens_before(question), end = planned();
    const uint64_t answer = begin + parts_[question].tokens;
    parts_.resize(question);
    unread_.clear();
    restore_before(begin);
    went_back_to_ = session_->tokens_seen();
    pins_->go_back(begin, {static_cast<uint32_t>(answer), static_cast<uint32_t>(end)});
    watch_fading();
    catch_up(true);
    parts_.push_back({.tokens = asked->ids.size(), .message = asked->id});
    keep_question_in_mind(false);
    listener_.turn_begins(*session_);
    return try_feed(asked->ids, stop);
}

void StoredSession::put_back()
{
    std::erase_if(turns_, [](const Turn& turn) { return turn.replaces && !turn.stored; });
    session_.reset(); // or memory would hold both
    with_fallback([&] {
        resume();
        watch_fading();
        catch_up(true);
    });
}

engine::GenerateResult StoredSession::regenerate(const engine::SamplerOptions& sampling,
                                                 const engine::GenerateOptions& options)
{
    if (!store_turns()) throw *not_stored_;
    const size_t question = last_question();
    const int64_t answer = *parts_.back().message;
    Turn* turn = nullptr;
    const auto is_unstored = [&] { return !turn || !turn->stored; };
    engine::GenerateResult result{.tokens = {}, .end = engine::GenerateEnd::Cancelled};
    try {
        if (with_fallback([&] { return go_back_to(question, options.stop); })) {
            opened_at_ = std::min(opened_at_, position());
            session_->set_sampler(sampling);
            turn = &turns_.emplace_back(Turn{
                .question = *store_.conversations.message(*parts_.back().message),
                .reply = {.parent = parts_.back().message, .role = Role::Assistant, .state = MessageState::Growing},
                .part = question,
                .replaces = answer,
                .sampling = sampling});
            parts_.push_back({});
            result = grow(*turn, options);
        }
    } catch (const Interrupted&) {
        if (!is_unstored()) throw;
        if (!options.stop.stop_requested()) {
            put_back();
            throw;
        }
    } catch (...) {
        if (is_unstored()) put_back();
        throw;
    }
    const bool has_answer = result.end != engine::GenerateEnd::Cancelled || !result.tokens.empty();
    if (turn && (turn->stored || has_answer)) return end_turn(*turn, std::move(result));
    put_back();
    return result;
}

// The states that hold the answer before go with it.
void StoredSession::replace_answer(Turn& turn)
{
    turn.reply.id = store_.conversations.add_message(info_.id, turn.reply);
    store_.conversations.replace_in_stream(info_.id, *turn.replaces, turn.reply.id);
    store_.snapshots.remove_after(info_.id, tokens_before(turn.part));
    store_.conversations.drop_fading_after(info_.id, went_back_to_);
    store_.conversations.set_pins(info_.id, pins_->all());
}

std::string StoredSession::branch(const std::string& name, int64_t message)
{
    if (!store_turns()) throw *not_stored_;
    const auto part =
        std::find_if(parts_.begin(), parts_.end(), [&](const StreamPart& p) { return p.message == message; });
    const auto found = store_.conversations.message(message);
    if (part == parts_.end() || !found || found->role != Role::User)
        throw Error(ErrorKind::NotFound, "PAL-SESSION-04", "session '" + printable(info_.name) + "'",
                    "message " + std::to_string(message) + " is none that was said to it",
                    "name one that was, and that has not been taken back");
    const uint64_t tokens = tokens_before(static_cast<size_t>(part - parts_.begin()));
    const int64_t id = store_.conversations.fork_before(info_.id, name, message);
    const auto states = store_.snapshots.of(info_.id);
    for (auto state = states.rbegin(); state != states.rend(); ++state)
        if (state->tokens_seen <= tokens) store_.snapshots.share(state->id, id);
    store_.database.transaction([&] { store_.snapshots.remove_after(id, tokens); });
    return name;
}

} // namespace palimpsest::storage
