#include "app/palimpsest/stored_session.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/palimpsest/byte_quantity.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/model_choice.h"
#include "app/palimpsest/output.h"
#include "engine/text/detokenizer.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::Message;
using storage::MessageState;
using storage::Role;
using storage::StreamPart;

constexpr uint64_t ids_at_once = 65536;
constexpr auto answer_save_interval = std::chrono::seconds(1); // P1
constexpr size_t answer_save_tokens = 256;

bool concerns_snapshot(const Error& error)
{
    return error.code().starts_with("PAL-SNAP-") || error.code().starts_with("PAL-POLICY-05");
}

[[noreturn]] void damaged_stream(const std::string& name)
{
    throw Error(ErrorKind::Failed, "PAL-DB-03", "session '" + printable(name) + "'",
                "what was fed to it is damaged", "see what is left: palimpsest sessions show");
}

std::span<const engine::TokenId> rest_of(const std::vector<engine::TokenId>& ids, uint64_t skip)
{
    return std::span(ids).subspan(std::min<size_t>(skip, ids.size()));
}

// As it can be found again from another folder.
std::string place_of(const Document& document)
{
    if (document.name() == "-") return "-";
    return std::filesystem::absolute(document.name()).lexically_normal().string();
}

[[noreturn]] void damaged_options(const std::string& name)
{
    throw Error(ErrorKind::Failed, "PAL-DB-03", "session '" + printable(name) + "'", "its settings cannot be read",
                "its text is safe: palimpsest sessions show");
}

} // namespace

StoredSession::StoredSession(Store& store, const std::string& name, const StoredOptions& options, Console& console)
    : store_(store), options_(options), console_(console)
{
    for (const std::string& notice : store_.notices)
        write_note(console_, options_.common.events, notice);
    const auto found = store_.conversations.find(name);
    if (found) {
        info_ = *found;
        if (options_.common.model.empty()) {
            const auto stored = ordered_json::parse(info_.options, nullptr, false);
            if (!stored.is_object()) damaged_options(name);
            options_.common.model = stored.value("model", "");
        }
    }
    model_ = load_model(options_.common);
    tokenizer_ = &require_tokenizer(*model_);
    template_ = std::make_unique<engine::ChatTemplate>(model_->files().vocabulary, *tokenizer_);
    if (!found && options_.read_only) store_.conversations.get(name); // throws
    if (options_.read_only) {
        // One view of the database while states are looked for and loaded, whatever its owner does.
        store_.database.guarded([&] {
            const SQLite::Transaction view(store_.database.sql(), SQLite::TransactionBehavior::DEFERRED);
            resume();
        });
    } else {
        found ? resume() : begin(name);
    }
    watch_fading();
    if (found) catch_up(false);
    opened_at_ = position();
}

void StoredSession::watch_fading()
{
    faded_.clear();
    session_->set_fade_sink([this](std::span<const engine::FadeEvent> events) {
        faded_.insert(faded_.end(), events.begin(), events.end());
    });
}

void StoredSession::begin(const std::string& name)
{
    session_ = std::make_unique<engine::Session>(model_, options_.common.session(model_->config()));
    info_ = {.name = name,
             .model = model_->fingerprint(),
             .model_name = model_->config().name,
             .options = options_json()};
    info_.id = store_.conversations.create(info_);
}

std::string StoredSession::options_json() const
{
    const engine::SessionOptions& o = session_->options();
    return ordered_json{{"model", std::filesystem::absolute(model_->files().path).string()},
                        {"policy", o.policy.text()},
                        {"budget", o.budget},
                        {"chunk", o.chunk},
                        {"positions", o.positions == engine::PositionMode::Original ? "original" : "contiguous"},
                        {"kv_type", kernels::info(*o.kv_type).name},
                        {"temperature", o.sampler.temperature},
                        {"top_p", o.sampler.top_p},
                        {"top_k", o.sampler.top_k},
                        {"min_p", o.sampler.min_p},
                        {"repeat_penalty", o.sampler.repeat_penalty},
                        {"seed", o.sampler.seed}}
        .dump();
}

void StoredSession::resume()
{
    parts_ = store_.conversations.stream(info_.id);
    for (const StreamPart& part : parts_)
        if (!part.document && !part.message && part.tokens != part.ids.size()) damaged_stream(info_.name);
    if (restore_newest()) return;
    const auto o = ordered_json::parse(info_.options, nullptr, false);
    if (!o.is_object()) damaged_options(info_.name);
    CommonOptions common = options_.common;
    common.policy = o.value("policy", common.policy);
    common.budget = std::to_string(o.value("budget", 0));
    common.chunk = o.value("chunk", common.chunk);
    common.positions = o.value("positions", common.positions);
    common.kv_type = o.value("kv_type", common.kv_type);
    common.sampler.temperature = o.value("temperature", common.sampler.temperature);
    common.sampler.top_p = o.value("top_p", common.sampler.top_p);
    common.sampler.top_k = o.value("top_k", common.sampler.top_k);
    common.sampler.min_p = o.value("min_p", common.sampler.min_p);
    common.sampler.repeat_penalty = o.value("repeat_penalty", common.sampler.repeat_penalty);
    common.sampler.seed = o.value("seed", common.sampler.seed);
    session_ = std::make_unique<engine::Session>(model_, common.session(model_->config()));
}

// The newest state that is whole; an older one and the tail of the text if the newest is damaged (P8). False: there
// is none, and all is to be read again.
bool StoredSession::restore_newest()
{
    std::optional<Error> first;
    for (const storage::SnapshotInfo& snapshot : store_.snapshots.of(info_.id)) {
        try {
            const engine::SessionState state = store_.snapshots.load(snapshot.id);
            if (state.tokens_seen + state.pending.size() > planned()) continue; // of a turn that was taken back
            session_ = engine::Session::restore(model_, state);
            snapshot_bytes_ = snapshot.bytes;
            if (first)
                write_note(console_, options_.common.events, std::string(first->what()) + "; an older one is used");
            if (!options_.read_only) store_.conversations.drop_fading_after(info_.id, session_->tokens_seen());
            return true;
        } catch (const Error& error) {
            if (!concerns_snapshot(error)) throw;
            if (!first) first = error;
        }
    }
    if (first && !options_.reread) {
        throw Error(ErrorKind::Failed, first->code(), "session '" + printable(info_.name) + "'", first->text(),
                    "its text is safe; give --reread to read its " + format_count(planned()) + " tokens again");
    }
    if (options_.read_only) return false;
    store_.snapshots.remove_all(info_.id); // none can be used, and damaged blocks must not be taken for new ones
    store_.conversations.drop_fading_after(info_.id, 0);
    return false;
}

uint64_t StoredSession::planned() const
{
    uint64_t tokens = 0;
    for (const StreamPart& part : parts_)
        tokens += part.tokens;
    return tokens;
}

uint64_t StoredSession::position() const
{
    return session_->tokens_seen() + static_cast<uint64_t>(session_->pending());
}

// Feeds what the stream has beyond the state. A document at its end may have been read in part only: then read()
// goes on, unless it is to be finished here.
void StoredSession::catch_up(bool finish_document)
{
    const uint64_t restored = position();
    uint64_t begin = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
        const StreamPart& part = parts_[i];
        const uint64_t end = begin + part.tokens;
        const bool may_wait = part.document && i + 1 == parts_.size() && !finish_document;
        if (end > position() && !may_wait) feed_part(part, position() - begin);
        begin = end;
    }
    fed_again_ = position() - restored;
}

void StoredSession::feed_part(const StreamPart& part, uint64_t skip)
{
    if (part.document) return feed_document(*part.document, skip, part.tokens - skip, nullptr);
    if (!part.message) return feed(rest_of(part.ids, skip), nullptr);
    for (const Message& message : store_.conversations.messages(info_.id)) {
        if (message.id != *part.message) continue;
        if (message.damaged) damaged_stream(info_.name);
        const auto ids = rest_of(message.ids, skip);
        if (message.role == Role::User) return feed(ids, nullptr);
        const bool ended = message.state == MessageState::Complete;
        const auto said_again = static_cast<size_t>(session_->replay(ids, ended, console_.stop));
        // Feeding the rest would compute it otherwise than it was: better not at all.
        if (console_.stop.stop_requested()) throw Interrupted{"stopped while going back to where the session was"};
        return feed(ids.subspan(said_again), nullptr);
    }
    damaged_stream(info_.name);
}

// The chunk at a document's end is computed as it is: what follows it begins a new one.
void StoredSession::feed_document(int64_t document, uint64_t first, uint64_t count, Progress* progress)
{
    const uint64_t total = position() + count;
    while (count > 0) {
        const auto ids = store_.library.ids(document, first, std::min(count, ids_at_once));
        if (ids.empty())
            throw Error(ErrorKind::Failed, "PAL-DOC-05", "document " + std::to_string(document),
                        "its end is missing", "import it again");
        feed(ids, progress, total);
        first += ids.size();
        count -= ids.size();
        if (count > 0) checkpoint_if_due();
    }
    session_->finish();
}

void StoredSession::feed(std::span<const engine::TokenId> ids, Progress* progress, uint64_t total)
{
    engine::FeedOptions feed{.stop = console_.stop, .progress = {}, .loss = {}};
    if (progress) feed.progress = [&](const engine::Telemetry& t) { progress->update(t, 0, total); };
    if (session_->feed(ids, feed)) return;
    save();
    throw Interrupted{"stopped after " + format_count(position()) +
                      " tokens; they are saved, run it again to go on"};
}

void StoredSession::read(Document& document)
{
    Progress progress(console_, Progress::style_for(console_, options_.common.events), document.name(),
                      std::nullopt);
    const bool goes_on = !parts_.empty() && parts_.back().document && position() < planned();
    const bool is_last = goes_on && store_.library.get(*parts_.back().document).source == place_of(document);
    if (goes_on) {
        const StreamPart last = parts_.back();
        feed_document(*last.document, last.tokens - (planned() - position()), planned() - position(), &progress);
    }
    if (goes_on && is_last && document.name() != "-") return save();
    if (has_read(place_of(document))) {
        write_note(console_, options_.common.events, document.name() + " was read into this session before");
        return;
    }
    const int64_t id = add_document(document);
    feed_document(id, 0, parts_.back().tokens, &progress);
    save();
}

bool StoredSession::has_read(const std::string& source)
{
    return source != "-" && std::any_of(parts_.begin(), parts_.end(), [&](const StreamPart& part) {
               return part.document && store_.library.get(*part.document).source == source;
           });
}

// Takes a document in and puts it, with its framing, at the end of the stream.
int64_t StoredSession::add_document(Document& document)
{
    const bool is_first = parts_.empty();
    const int64_t id = import(document, is_first && template_->document_is_first_text());
    const uint64_t tokens = store_.library.get(id).tokens;
    if (tokens == 0) {
        store_.library.remove(id);
        throw Error(ErrorKind::Failed, "PAL-DOC-03", printable(document.name()), "it has no text",
                    "give a document with text");
    }
    StreamPart framing;
    framing.ids = is_first ? template_->open_user() : next_document(document.title());
    framing.tokens = framing.ids.size();
    const StreamPart part{.tokens = tokens, .document = id};
    store_.database.transaction([&] {
        store_.conversations.append(info_.id, framing);
        store_.conversations.append(info_.id, part);
    });
    parts_.push_back(framing);
    parts_.push_back(part);
    feed(framing.ids, nullptr);
    return id;
}

// A document after an answer opens a turn of its own.
std::vector<engine::TokenId> StoredSession::next_document(const std::string& title) const
{
    std::vector<engine::TokenId> ids;
    if (!parts_.back().document) ids = template_->close_assistant_open_user();
    const auto heading = template_->next_document(title);
    ids.insert(ids.end(), heading.begin(), heading.end());
    return ids;
}

std::vector<std::string> StoredSession::sources()
{
    std::vector<std::string> all;
    for (const StreamPart& part : parts_)
        if (part.document) all.push_back(store_.library.get(*part.document).source);
    return all;
}

int64_t StoredSession::import(Document& document, bool first_text)
{
    storage::Import import(store_.database, document.title(), place_of(document), model_->fingerprint());
    Coverage coverage;
    encode_document(document, *tokenizer_, first_text, coverage,
                    [&](std::string_view clean, std::span<const engine::EncodedToken> tokens) {
                        import.add_text(clean);
                        import.add_tokens(tokens);
                    });
    return import.finish({.words = document.words(),
                          .invalid_sequences = coverage.invalid_sequences,
                          .nul_characters = coverage.nul_characters});
}

Coverage StoredSession::coverage()
{
    Coverage all;
    uint64_t begin = 0;
    for (const StreamPart& part : parts_) {
        if (part.document) {
            const storage::DocumentInfo document = store_.library.get(*part.document);
            all.tokens_in_input += part.tokens;
            all.tokens_read += std::min(part.tokens, position() - std::min(begin, position()));
            all.invalid_sequences += document.invalid_sequences;
            all.nul_characters += document.nul_characters;
        }
        begin += part.tokens;
    }
    return all;
}

// At most one a minute, and no more bytes than a state every ten minutes or 100 MB per million tokens would take.
void StoredSession::checkpoint_if_due()
{
    const double seconds = std::chrono::duration<double>(Clock::now() - saved_).count();
    if (seconds < options_.checkpoint_seconds) return;
    const uint64_t expected = std::max(snapshot_bytes_, session_->telemetry().cache_bytes / 2);
    const uint64_t allowed = 100 * (position() - opened_at_);
    if (seconds < 600 && snapshot_bytes_written_ + expected > allowed) return;
    save();
}

void StoredSession::save()
{
    if (options_.read_only) return;
    const engine::SessionState state = session_->state();
    const uint64_t before = store_.database.bytes_written();
    store_.snapshots.save(info_.id, state, [&] {
        store_.conversations.append_fading(info_.id, faded_, state.tokens_seen);
        store_.conversations.touch(info_.id);
    });
    faded_.clear();
    snapshot_bytes_ = store_.database.bytes_written() - before;
    snapshot_bytes_written_ += snapshot_bytes_;
    saved_ = Clock::now();
    if (options_.common.events)
        write_event(console_.err, {{"event", "checkpoint"},
                                   {"tokens_seen", state.tokens_seen},
                                   {"bytes_written", store_.database.bytes_written()}});
}

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
    });
    resume();
    watch_fading();
    catch_up(true);
    save();
}

engine::GenerateResult StoredSession::say(const std::string& message, const engine::GenerateOptions& options)
{
    if (position() != planned())
        throw Error(ErrorKind::Usage, "PAL-SESSION-03", "session '" + printable(info_.name) + "'",
                    "its document is not read to its end yet",
                    "let it go on first: palimpsest read FILE --session " + printable(info_.name));
    Message question{.role = Role::User, .text = message, .ids = turn(message)};
    Message reply{.role = Role::Assistant, .state = MessageState::Growing};
    store_.database.transaction([&] {
        question.parent = last_message();
        question.id = store_.conversations.add_message(info_.id, question);
        reply.parent = question.id;
        reply.id = store_.conversations.add_message(info_.id, reply);
        store_.conversations.append(info_.id, {.message = question.id});
        store_.conversations.append(info_.id, {.message = reply.id});
    });
    parts_.push_back({.tokens = question.ids.size(), .message = question.id});
    parts_.push_back({.message = reply.id});
    feed(question.ids, nullptr);

    engine::IncrementalDetokenizer detokenizer(*tokenizer_, false);
    auto stored_at = Clock::now();
    size_t stored_tokens = 0;
    const auto store = [&] {
        store_.database.transaction([&] { store_.conversations.update_message(reply); });
        stored_at = Clock::now();
        stored_tokens = reply.ids.size();
    };
    engine::GenerateOptions growing = options;
    growing.token = [&](engine::TokenId id) {
        reply.ids.push_back(id);
        reply.text += detokenizer.push(id);
        if (Clock::now() - stored_at >= answer_save_interval ||
            reply.ids.size() - stored_tokens >= answer_save_tokens)
            store();
        return !options.token || options.token(id);
    };
    const engine::GenerateResult result = session_->generate(growing);
    reply.text += detokenizer.finish();
    reply.state = result.end == engine::GenerateEnd::EndOfText ? MessageState::Complete
                  : result.end == engine::GenerateEnd::Length  ? MessageState::Cut
                                                               : MessageState::Stopped;
    store();
    parts_.back().tokens = reply.ids.size();
    save();
    return result;
}

} // namespace palimpsest::app
