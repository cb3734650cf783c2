#include "storage/session/stream_feeder.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

constexpr uint64_t ids_per_load = 65536;   // of a document, from the database
constexpr uint64_t min_ids_per_feed = 512; // fed between two checks whether a checkpoint is due

std::span<const engine::TokenId> rest_of(const std::vector<engine::TokenId>& ids, uint64_t skip)
{
    return std::span(ids).subspan(std::min<size_t>(skip, ids.size()));
}

} // namespace

Feeding StreamFeeder::usual() const
{
    return {.stop = context_.listener.stop(), .saves = true, .shows_progress = context_.options.tells_catching_up};
}

void StreamFeeder::damaged_stream() const
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, context_.subject(),
                Text("what was fed to it is damaged"), Text(Step::ShowSession, printable(context_.info.name)));
}

void StreamFeeder::restore()
{
    unread_.clear();
    context_.pins = std::make_unique<SessionPins>(context_.store, context_.info.id);
    context_.stream = SessionStream(context_.store.conversations.stream(context_.info.id));
    for (const StreamPart& part : context_.stream.parts())
        if (const StreamFraming* framing = framing_in(part); framing && framing->tokens != framing->ids.size())
            damaged_stream();
    match_framing();
    if (!checkpoints_.restore_newest()) context_.session = checkpoints_.fresh();
}

void StreamFeeder::match_framing()
{
    if (context_.stream.empty() || framing_.chat_template().plain()) return;
    const StreamPart& first = context_.stream.parts().front();
    if (const StreamFraming* framing = framing_in(first)) framing_.match_beginning(framing->ids);
    const StreamMessage* part = message_in(first);
    if (!part) return;
    const auto message = context_.store.conversations.message(*part->id);
    if (message && !message->damaged) framing_.match_beginning(message->ids);
}

void StreamFeeder::catch_up(LastDocument last, const Feeding& feeding)
{
    if (!context_.options.read_only) journal_.require_stored(); // messages are fed from the database
    unread_.clear();
    const std::vector<StreamPart>& parts = context_.stream.parts();
    const uint64_t restored = context_.position();
    uint64_t begin = 0;
    bool is_question = false;
    for (size_t i = 0; i < parts.size(); ++i) {
        const uint64_t end = begin + tokens_of(parts[i]);
        const StreamMessage* message = message_in(parts[i]);
        // Messages come in pairs. No checkpoint is written between question and answer: it would look like one
        // after an answer without tokens.
        is_question = message && !is_question;
        const bool may_wait =
            document_in(parts[i]) && i + 1 == parts.size() && last == LastDocument::MayStayHalfRead;
        // An answer without tokens is replayed, too: the sampler drew the token that ended it. A restored
        // checkpoint at its position was made after that.
        const bool is_empty_answer = message && message->tokens == 0 && begin > restored;
        if ((end > context_.position() && !may_wait) || is_empty_answer) {
            feed_part(parts[i], context_.position() - begin, feeding);
            if (!is_question && feeding.saves) checkpoints_.save_if_due(false);
        }
        begin = end;
    }
    fed_again_ += context_.position() - restored;
    if (context_.position() == context_.stream.tokens()) context_.pins->apply(*context_.session);
    if (!context_.options.read_only) context_.store.conversations.stop_growing(context_.info.id);
}

void StreamFeeder::feed_part(const StreamPart& part, uint64_t skip, const Feeding& feeding)
{
    if (const StreamMessage* message = message_in(part)) return replay_message(*message->id, skip, feeding);
    if (const StreamFraming* framing = framing_in(part)) return feed(rest_of(framing->ids, skip), feeding);
    const StreamDocument& document = *document_in(part);
    const uint64_t rest = document.tokens - skip;
    if (!feeding.shows_progress) return feed_document(document.id, skip, rest, feeding, nullptr);
    ReadingMeter progress(context_.listener, context_.store.library.get(document.id).title);
    progress.start_at(context_.position() - skip, context_.position());
    feed_document(document.id, skip, rest, feeding, &progress);
}

void StreamFeeder::replay_message(int64_t id, uint64_t skip, const Feeding& feeding)
{
    const auto message = context_.store.conversations.message(id);
    if (!message || message->damaged) damaged_stream();
    const auto ids = rest_of(message->ids, skip);
    if (message->role == Role::User) {
        if (!feed_message(ids, feeding.stop)) interrupt(feeding);
        return;
    }
    engine::Session& session = *context_.session;
    session.set_question_ids({});
    if (const auto sampling = journal_.sampling_of_replacement(id)) session.set_sampler(*sampling);
    const bool ended = message->state == MessageState::Complete;
    const bool may_not_be_begun =
        message->state == MessageState::Stopped || message->state == MessageState::Growing;
    if (may_not_be_begun && message->ids.empty()) return;
    context_.pins->apply(session);
    const auto again = session.replay(ids, ended, feeding.stop);
    if (again && *again == std::ssize(ids)) return;
    if (again && *again > 0 && feeding.saves) checkpoints_.save();
    throw Interrupted{Text("stopped while going back to where the session was")};
}

// Computes the chunk at the document's end even if it is not full: what follows begins a new one.
void StreamFeeder::feed_document(int64_t document, uint64_t first, uint64_t count, const Feeding& feeding,
                                 ReadingMeter* progress)
{
    engine::Session& session = *context_.session;
    session.set_question_ids(framing_.question_ids());
    const uint64_t total = context_.position() + count, end = first + count;
    const auto sections = context_.store.library.sections(document);
    auto chapter = sections.begin();
    const uint64_t ids_per_feed = std::max(min_ids_per_feed, static_cast<uint64_t>(session.options().rows_at_once));
    std::vector<engine::TokenId> ids; // of the document, from token ids_begin on
    uint64_t ids_begin = first;
    std::deque<Stretch> to_note = feeding.saves ? notes_.missing(document, first) : std::deque<Stretch>();
    const auto note = [&] { // before a checkpoint is written: what is restored has the notes up to there
        if (to_note.empty() || to_note.front().end_token != first) return;
        if (!notes_.write(document, to_note.front(), feeding.stop)) interrupt(feeding);
        to_note.pop_front();
    };
    if (first < end) note(); // the reading was stopped before it
    while (first < end) {
        if (first == ids_begin + ids.size()) {
            ids = context_.store.library.ids(document, first, std::min(end - first, ids_per_load));
            ids_begin = first;
        }
        if (ids.empty())
            throw Error(ErrorKind::Failed, ErrorCode::DamagedDocument, Text("document {0}", document),
                        Text("its end is missing"), Text("import it again"));
        uint64_t last = std::min(first + ids_per_feed, ids_begin + ids.size());
        while (chapter != sections.end() && chapter->first_token <= first)
            ++chapter;
        const bool at_chapter =
            chapter != sections.end() && chapter->first_token <= last && checkpoints_.is_due_at_chapter();
        if (at_chapter) last = chapter->first_token;
        if (!to_note.empty()) last = std::min(last, to_note.front().end_token);
        const auto next = std::span(ids).subspan(first - ids_begin, last - first);
        if (!try_feed(next, feeding.stop, {.meter = progress, .total = total})) interrupt(feeding);
        first = last;
        if (first < end) note();
        if (feeding.saves) encode_passages(document, first, first == end, feeding.stop);
        if (first < end && feeding.saves) checkpoints_.save_if_due(at_chapter);
    }
    if (!session.finish({.stop = feeding.stop, .progress = {}, .loss = {}})) interrupt(feeding);
    context_.pins->apply(session);
    note(); // only now, since no reading is continued that was stopped here
    if (progress) progress->update(session, session.telemetry(), 0, total);
}

// Encodes the passages that were read: several at a time, for which encoding is fast, and not all at once those
// that were read with another encoder. A question encodes the rest.
void StreamFeeder::encode_passages(int64_t document, uint64_t end, bool all, const std::stop_token& stop)
{
    constexpr int64_t most = 64; // a second or two
    Database& database = context_.store.database;
    context_.encode([&](PassageEncoder& encoder) {
        if (all || encoder.has_many(database, document, end)) encoder.encode(database, document, end, stop, most);
    });
}

void StreamFeeder::feed(std::span<const engine::TokenId> ids, const Feeding& feeding)
{
    context_.session->set_question_ids(framing_.question_ids());
    if (!try_feed(ids, feeding.stop, {})) interrupt(feeding);
}

bool StreamFeeder::feed_message(std::span<const engine::TokenId> ids, const std::stop_token& stop)
{
    context_.session->set_question_ids({}); // question rows are for documents, not for messages
    return try_feed(ids, stop, {});
}

bool StreamFeeder::finish_question(const std::stop_token& stop)
{
    const uint64_t begin = context_.position();
    const auto remove_fed = [&] {
        unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(context_.position() - begin));
    };
    try {
        const bool all = feed_message(unread_, stop);
        remove_fed();
        return all;
    } catch (...) {
        remove_fed();
        throw;
    }
}

void StreamFeeder::interrupt(const Feeding& feeding)
{
    if (context_.options.read_only) throw Interrupted{Text("stopped while going back to where the session was")};
    if (feeding.saves) checkpoints_.save();
    throw Interrupted{
        Text("stopped after {0} tokens; they are saved, run it again to go on", format_count(context_.position()))};
}

bool StreamFeeder::try_feed(std::span<const engine::TokenId> ids, const std::stop_token& stop,
                            const Progress& progress)
{
    using Clock = std::chrono::steady_clock;
    engine::Session& session = *context_.session;
    auto begin = Clock::now(); // without the time that the listener takes
    engine::FeedOptions options{.stop = stop, .progress = {}, .loss = {}};
    if (progress.meter)
        options.progress = [&](const engine::Telemetry& telemetry) {
            const auto told_at = Clock::now();
            progress.meter->written(context_.store.database.bytes_written());
            progress.meter->update(session, telemetry, 0, progress.total);
            begin += Clock::now() - told_at;
        };
    bool fed = true;
    const uint64_t from = session.tokens_seen();
    context_.pins->apply(session);
    while (fed && !ids.empty()) {
        const uint64_t position = context_.position();
        const uint64_t count = std::min<uint64_t>(ids.size(), context_.pins->next(position) - position);
        fed = session.feed(ids.first(count), options);
        ids = ids.subspan(count);
        if (fed) context_.pins->apply(session);
    }
    rate_.add(session.tokens_seen() - from, std::chrono::duration<double>(Clock::now() - begin).count());
    return fed;
}

} // namespace palimpsest::storage
