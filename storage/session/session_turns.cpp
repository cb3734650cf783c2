#include "storage/session/session_turns.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/text/detokenizer.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/document_indexing.h"
#include "storage/session/found_sentences.h"
#include "storage/session/passage_answer.h"

namespace palimpsest::storage {
namespace {

// A growing answer is stored this often, so that a crash loses at most so much of it.
constexpr auto answer_save_interval = std::chrono::seconds(1);
constexpr size_t answer_save_tokens = 256;

// Without the space that often begins a sentence's first token.
std::string text_of(const std::vector<engine::TokenId>& ids, const engine::Tokenizer& tokenizer)
{
    engine::IncrementalDetokenizer detokenizer(tokenizer, false);
    std::string text;
    for (const engine::TokenId id : ids)
        text += detokenizer.push(id);
    text += detokenizer.finish();
    const size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
    return text.substr(begin, text.find_last_not_of(" \n") + 1 - begin);
}

bool is_document(const StreamPart& part)
{
    return document_in(part) != nullptr;
}

} // namespace

engine::GenerateResult SessionTurns::say(const std::string& message, const engine::GenerateOptions& options)
{
    was_written_apart_ = false;
    if (!fallback_.run([&] { return feeder_.finish_question(options.stop); })) {
        context_.listener.note(Text("the previous question is not fully read yet; send the new one again"));
        return {.tokens = {}, .end = engine::GenerateEnd::Cancelled};
    }
    if (context_.position() != context_.stream.tokens())
        throw Error(ErrorKind::Usage, ErrorCode::UnfinishedDocument, context_.subject(),
                    Text("its document is not read to its end yet"),
                    Text(Step::FinishReading, printable(context_.info.name)));
    const auto found = look_up(message, options.stop);
    if (!found) return {.tokens = {}, .end = engine::GenerateEnd::Cancelled};
    FramedTurn framed = framing_.turn(context_.stream, message, found->quoted(context_.store));
    check_message(message, framed);
    // Saves the sampling, so that an answer that a crash cuts short can be replayed with it.
    if (!checkpoints_.sampling_is_saved()) fallback_.run([&] { checkpoints_.save_if_there_is_room(); });
    fallback_.run([&] { context_.listener.message_starts(*context_.session); });
    if (!found->empty()) context_.listener.found(*found, context_.store);
    Turn& turn = journal_.begin(message, std::move(framed.ids), found->record(framed.passages_at));
    bool is_read = false;
    try {
        journal_.store();
        feeder_.begin_question(turn.question.ids);
        is_read = fallback_.run([&] { return feeder_.finish_question(options.stop); });
    } catch (...) {
        turn.reply.state = MessageState::Stopped;
        throw;
    }
    if (!is_read) return end_turn(turn, {.tokens = {}, .end = engine::GenerateEnd::Cancelled});
    const Prompt apart =
        found->excerpts.empty() ? Prompt() : prompt_apart(turn.question, context_.stream.size() - 2);
    return end_turn(turn, answer(turn, apart, options));
}

engine::GenerateResult SessionTurns::answer(Turn& turn, const Prompt& apart, const engine::GenerateOptions& options)
{
    using Clock = std::chrono::steady_clock;
    Message& reply = turn.reply;
    engine::IncrementalDetokenizer detokenizer(framing_.tokenizer(), false);
    auto stored_at = Clock::now();
    size_t stored_tokens = 0;
    engine::GenerateOptions growing = options;
    growing.token = [&](engine::TokenId id) {
        reply.ids.push_back(id);
        reply.text += detokenizer.push(id);
        if (Clock::now() - stored_at >= answer_save_interval ||
            reply.ids.size() - stored_tokens >= answer_save_tokens) {
            journal_.store();
            stored_at = Clock::now();
            stored_tokens = reply.ids.size();
        }
        return !options.token || options.token(id);
    };
    try {
        engine::GenerateResult result = generate(turn, apart, growing);
        reply.text += detokenizer.finish();
        return result;
    } catch (...) { // the tokens generated so far are in the cache
        context_.stream.set_answer_tokens(reply.ids.size());
        reply.state = MessageState::Stopped;
        throw;
    }
}

// If the device fails, the CPU continues the answer after its last token.
engine::GenerateResult SessionTurns::generate(Turn& turn, const Prompt& apart,
                                              const engine::GenerateOptions& options)
{
    was_written_apart_ = !apart.empty();
    engine::GenerateOptions rest = options;
    engine::GenerateResult result = fallback_.run([&] {
        rest.max_tokens = options.max_tokens - static_cast<int32_t>(turn.reply.ids.size());
        return was_written_apart_ ? generate_apart(turn, apart, rest) : context_.session->generate(rest);
    });
    result.tokens = turn.reply.ids;
    return result;
}

// If there is no memory for another session, this one writes the answer.
engine::GenerateResult SessionTurns::generate_apart(const Turn& turn, const Prompt& apart,
                                                    const engine::GenerateOptions& options)
try {
    return storage::generate_apart(*context_.session, context_.model, apart, turn.reply.ids, options);
} catch (const Error& error) {
    if (error.kind() != ErrorKind::Resources || is_device_loss(error) || !turn.reply.ids.empty()) throw;
    context_.listener.note(Text("the answer is written from what the session holds, too: {0}", sentence_of(error)));
    was_written_apart_ = false;
    return context_.session->generate(options);
}

bool SessionTurns::may_answer_apart(const std::string& message, size_t part) const
{
    const RereadOptions& options = context_.options.rereading;
    return options.mode != RereadMode::Never && framing_.question().empty() &&
           storage::may_answer_apart(options.answer_from, message, std::span(context_.stream.parts()).first(part));
}

// From what the question has read again.
SessionTurns::Prompt SessionTurns::prompt_apart(const Message& question, size_t part) const
{
    std::vector<std::string> texts;
    for (const ReadAgain& again : question.read_again)
        texts.push_back(text_of(context_.store.library.ids(again.document, again.first_token, again.tokens()),
                                framing_.tokenizer()));
    return storage::prompt_apart(
        framing_.chat_template(),
        exchange_before(question.text, std::span(context_.stream.parts()).first(part), context_.store), texts,
        prompted(passage_prompt, question.text));
}

// Returns nullopt if stopped.
std::optional<Rereading> SessionTurns::look_up(const std::string& message, const std::stop_token& stop) const
{
    const RereadOptions& options = context_.options.rereading;
    if (options.mode == RereadMode::Never) return Rereading{};
    const std::vector<int64_t> documents = documents_in(context_.stream);
    if (!index_documents(context_.store, documents, context_.listener, stop)) return std::nullopt;
    FindingMeans means{.before = asked_before(context_.store, context_.stream),
                       .model = context_.model,
                       .listener = &context_.listener,
                       .stop = stop};
    bool go_on = true;
    context_.encode([&](PassageEncoder& encoder) {
        go_on = encode_documents(context_.store, documents, encoder, context_.listener, stop);
        if (go_on) means.meaning = encoder.meaning_of({message, means.before}, stop);
    });
    if (!go_on) return std::nullopt;
    Rereading found = fallback_.run([&] {
        means.model = context_.model; // the second time it is another one
        means.encoder = means.is_by_meaning() ? context_.encoder_for_finding() : nullptr;
        return plan_rereading(context_.store, context_.stream, *context_.session, message, options, means);
    });
    if (may_answer_apart(message, context_.stream.size())) add_excerpts(found, {message, means.before}, stop);
    return found;
}

void SessionTurns::add_excerpts(Rereading& found, const Question& question, const std::stop_token& stop) const
{
    const AnswerFrom from = context_.options.rereading.answer_from;
    found.excerpts = excerpts_for(
        found, FoundSentences(found, question, context_.store, context_.encoder_for_finding(), stop), from);
    if (from == AnswerFrom::Passages && found.excerpts.empty())
        context_.listener.note(Text("nothing was found; the answer comes from what the session holds"));
}

// Called before anything is stored: a message that can never be fed would block the session.
void SessionTurns::check_message(const std::string& message, const FramedTurn& turn) const
{
    constexpr uint64_t max_bytes = 16 << 20; // of one transaction
    const size_t tokens = turn.ids.size();
    if (message.size() + tokens * sizeof(engine::TokenId) > max_bytes)
        throw Error(ErrorKind::Usage, ErrorCode::MessageTooLong, Text("message"),
                    Text("it has {0}, which is too much for a turn", format_bytes(message.size())),
                    Text(Step::ReadAsDocument, printable(context_.info.name)));
    context_.session->require_room(static_cast<int64_t>(tokens));
}

engine::GenerateResult SessionTurns::end_turn(Turn& turn, engine::GenerateResult result)
{
    Message& reply = turn.reply;
    reply.state = result.end == engine::GenerateEnd::EndOfText ? MessageState::Complete
                  : result.end == engine::GenerateEnd::Length || result.end == engine::GenerateEnd::Full
                      ? MessageState::Cut
                      : MessageState::Stopped;
    context_.stream.set_answer_tokens(reply.ids.size());
    if (!journal_.store()) return result;
    try {
        fallback_.run([&] { checkpoints_.save_if_there_is_room(); });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::Resources) throw;
        journal_.set_failure(error);
    }
    return result;
}

void SessionTurns::restore_all()
{
    fallback_.run([&] {
        feeder_.restore();
        checkpoints_.collect_evictions();
        feeder_.catch_up(LastDocument::Finish, feeder_.usual());
    });
}

// The session restores a checkpoint from before the message, and catches up to just before it.
void SessionTurns::undo()
{
    journal_.require_stored();
    Store& store = context_.store;
    const SessionStream& stream = context_.stream;
    const auto messages = store.conversations.messages(context_.info.id);
    const auto last =
        std::find_if(messages.rbegin(), messages.rend(), [](const Message& m) { return m.role == Role::User; });
    if (last == messages.rend())
        throw Error(ErrorKind::NotFound, ErrorCode::MessageNotFound, context_.subject(),
                    Text("there is no message to take back"), Text("say something first"));
    const size_t part = stream.part_of_message(last->id);
    if (std::any_of(stream.parts().begin() + static_cast<std::ptrdiff_t>(part), stream.parts().end(), is_document))
        throw Error(ErrorKind::Usage, ErrorCode::DocumentAfterMessage, context_.subject(),
                    Text("a document was read after the last message"),
                    Text("go on, or fork the session at an earlier time"));
    const uint64_t tokens = stream.tokens_before(part);
    store.database.transaction([&] {
        store.conversations.remove_messages_from(context_.info.id, last->id);
        store.snapshots.remove_after(context_.info.id, tokens);
        context_.pins->drop_after(tokens);
    });
    restore_all();
}

// Returns the index of the last question in the stream. Throws Error if there is none, or if a document follows it.
size_t SessionTurns::last_question() const
{
    if (!context_.stream.last_message())
        throw Error(ErrorKind::NotFound, ErrorCode::MessageNotFound, context_.subject(),
                    Text("there is no message to answer again"), Text("say something first"));
    if (!message_in(context_.stream.parts().back()))
        throw Error(ErrorKind::Usage, ErrorCode::DocumentAfterMessage, context_.subject(),
                    Text("a document was read after the last message"),
                    Text("ask again, or fork the session at an earlier time"));
    return context_.stream.size() - 2; // messages come in pairs
}

// Takes the session back to the end of the question, without its answer. Writes nothing: the stored stream still
// has the answer. Returns the number of tokens of the checkpoint that was restored; nullopt if stopped.
std::optional<uint64_t> SessionTurns::go_back_to(size_t question, const std::stop_token& stop)
{
    context_.stream = SessionStream(context_.store.conversations.stream(context_.info.id));
    SessionStream& stream = context_.stream;
    const StreamMessage part = *message_in(stream.parts()[question]);
    const auto asked = context_.store.conversations.message(*part.id);
    if (!asked || asked->damaged)
        throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, context_.subject(),
                    Text("its last message is damaged"), Text(Step::ShowSession, printable(context_.info.name)));
    const uint64_t begin = stream.tokens_before(question), end = stream.tokens();
    const uint64_t answer = begin + part.tokens;
    stream.truncate(question);
    checkpoints_.restore_before(begin);
    const uint64_t restored_at = context_.session->tokens_seen();
    context_.pins->go_back(begin, {static_cast<uint32_t>(answer), static_cast<uint32_t>(end)});
    checkpoints_.collect_evictions();
    feeder_.catch_up(LastDocument::Finish, {.stop = stop, .saves = false, .shows_progress = true});
    stream.append(StreamMessage{.id = asked->id, .tokens = asked->ids.size()});
    context_.session->set_question_ids({});
    context_.listener.message_starts(*context_.session);
    return feeder_.feed_message(asked->ids, stop) ? std::optional(restored_at) : std::nullopt;
}

// Returns null if it is stopped while going back.
Turn* SessionTurns::begin_other_answer(size_t question, const engine::SamplerOptions& sampling,
                                       const std::stop_token& stop)
{
    const int64_t answer = *message_in(context_.stream.parts().back())->id;
    const auto restored_at = fallback_.run([&] { return go_back_to(question, stop); });
    if (!restored_at) return nullptr;
    checkpoints_.went_back();
    context_.session->set_sampler(sampling);
    const int64_t asked = *message_in(context_.stream.parts().back())->id;
    return &journal_.begin_replacement(*context_.store.conversations.message(asked),
                                       {.answer = answer, .restored_at = *restored_at, .sampling = sampling});
}

// Undoes a regeneration: drops its turn, and restores the stored stream, which still has the old answer. REQUIRES:
// nothing of the new answer is stored.
void SessionTurns::return_to_stored()
{
    journal_.drop_unstored_replacements();
    context_.session.reset(); // so that only one session is in memory at a time
    restore_all();
}

engine::GenerateResult SessionTurns::regenerate(const engine::SamplerOptions& sampling,
                                                const engine::GenerateOptions& options)
{
    journal_.require_stored();
    was_written_apart_ = false;
    const size_t question = last_question();
    Turn* turn = nullptr;
    const auto is_unstored = [&] { return !turn || !turn->stored; };
    engine::GenerateResult result{.tokens = {}, .end = engine::GenerateEnd::Cancelled};
    try {
        turn = begin_other_answer(question, sampling, options.stop);
        if (turn) {
            const bool is_apart =
                !turn->question.read_again.empty() && may_answer_apart(turn->question.text, question);
            result = answer(*turn, is_apart ? prompt_apart(turn->question, question) : Prompt(), options);
        }
    } catch (const Interrupted&) {
        if (!is_unstored()) throw;
        if (!options.stop.stop_requested()) {
            return_to_stored();
            throw;
        }
    } catch (...) {
        if (is_unstored()) return_to_stored();
        throw;
    }
    const bool has_answer = result.end != engine::GenerateEnd::Cancelled || !result.tokens.empty();
    if (turn && (turn->stored || has_answer)) return end_turn(*turn, std::move(result));
    return_to_stored();
    return result;
}

std::string SessionTurns::branch(const std::string& name, int64_t message)
{
    journal_.require_stored();
    Store& store = context_.store;
    const size_t part = context_.stream.part_of_message(message);
    const auto found = store.conversations.message(message);
    if (part == context_.stream.size() || !found || found->role != Role::User)
        throw Error(ErrorKind::NotFound, ErrorCode::MessageNotFound, context_.subject(),
                    Text("message {0} is not a question to the session", message),
                    Text("name one that was, and that has not been taken back"));
    const uint64_t tokens = context_.stream.tokens_before(part);
    const int64_t id = store.conversations.fork_before(context_.info.id, name, message);
    const auto checkpoints = store.snapshots.of(context_.info.id);
    for (auto checkpoint = checkpoints.rbegin(); checkpoint != checkpoints.rend(); ++checkpoint)
        if (checkpoint->tokens_seen <= tokens) store.snapshots.share(checkpoint->id, id);
    store.database.transaction([&] { store.snapshots.remove_after(id, tokens); });
    return name;
}

} // namespace palimpsest::storage
