#include "app/palimpsest/stored_session.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/palimpsest/byte_quantity.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/model_choice.h"
#include "app/palimpsest/output.h"
#include "engine/text/detokenizer.h"
#include "engine/text/section_finder.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::Message;
using storage::MessageState;
using storage::Role;
using storage::StreamPart;

constexpr uint64_t ids_at_once = 65536;
constexpr uint64_t ids_between_looks = 512;                    // at the clock: what a model takes at once
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

double seconds_since(std::chrono::steady_clock::time_point then)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
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

// Calls visit with the name and both values of every sampling option.
template<class A, class B, class Visit>
void each_sampling_option(A& a, B& b, Visit&& visit)
{
    visit("temperature", a.temperature, b.temperature);
    visit("top_p", a.top_p, b.top_p);
    visit("top_k", a.top_k, b.top_k);
    visit("min_p", a.min_p, b.min_p);
    visit("repeat_penalty", a.repeat_penalty, b.repeat_penalty);
    visit("seed", a.seed, b.seed);
}

// What a session was begun with, as options_json wrote it.
struct BegunWith {
    std::string model, policy, policy_given, positions, kv_type;
    int32_t budget = 0, chunk = 0;
    ordered_json all;

    explicit BegunWith(const storage::SessionInfo& info)
    try : all(ordered_json::parse(info.options)) {
        model = all.value("model", "");
        policy = all.value("policy", "treekv");
        policy_given = all.value("policy_given", policy);
        positions = all.value("positions", "contiguous");
        kv_type = all.value("kv_type", "auto");
        budget = all.value("budget", 0);
        chunk = all.value("chunk", CommonOptions().chunk);
        sampling({});
    } catch (const ordered_json::exception&) {
        damaged_options(info.name);
    }

    // Of the chat that began the session, or `own`.
    engine::SamplerOptions sampling(const engine::SamplerOptions& own) const
    {
        engine::SamplerOptions sampling = own;
        each_sampling_option(sampling, own, [&](const char* key, auto& value, const auto& fallback) {
            value = all.value(key, fallback);
        });
        return sampling;
    }
};

const char* name_of(engine::PositionMode positions)
{
    return positions == engine::PositionMode::Original ? "original" : "contiguous";
}

} // namespace

StoredSession::StoredSession(Store& store, const std::string& name, const StoredOptions& options, Console& console)
    : store_(store), options_(options), console_(console), wishes_(options.common.pins)
{
    for (const std::string& notice : store_.notices)
        write_note(console_, options_.common.events, notice);
    const auto found = store_.conversations.find(name);
    if (found) {
        info_ = *found;
        if (!options_.common.given("model")) options_.common.model = BegunWith(info_).model;
    }
    model_ = load_model(options_.common);
    if (found) check_model();
    tokenizer_ = &require_tokenizer(*model_);
    template_ = std::make_unique<engine::ChatTemplate>(model_->files().vocabulary, *tokenizer_);
    if (!found && options_.read_only) store_.conversations.get(name); // throws
    for (const std::string& wish : wishes_)
        parse_pin(wish);
    if (options_.read_only && !wishes_.empty())
        throw Error(ErrorKind::Usage, "PAL-PIN-04", "--pin", "the session is not changed here",
                    "pin while it is read (palimpsest read) or in palimpsest chat: /pin");
    if (options_.read_only) {
        store_.database.guarded([&] {
            view_ =
                std::make_unique<SQLite::Transaction>(store_.database.sql(), SQLite::TransactionBehavior::DEFERRED);
        });
        resume();
    } else {
        found ? resume() : begin(name);
    }
    if (found) check_cache_options();
    watch_fading();
    if (found) catch_up(false);
    opened_at_ = position();
    written_at_open_ = store_.database.bytes_written();
}

namespace {

[[noreturn]] void refuse_setting(const std::string& session, const std::string& option, const std::string& given,
                                 const std::string& has)
{
    throw Error(ErrorKind::Usage, "PAL-SESSION-06", "session '" + printable(session) + "'",
                "it was begun with " + option + " " + printable(has) + ", and " + printable(given) +
                    " was given now",
                "leave " + option + " out, or read the document into another --session");
}

} // namespace

void StoredSession::check_model() const
{
    if (options_.common.given("model") && model_->fingerprint() != info_.model)
        refuse_setting(info_.name, "--model", options_.common.model, BegunWith(info_).model);
}

// What a session keeps was chosen under the options it was begun with; others would need the document again.
void StoredSession::check_cache_options() const
{
    const CommonOptions& given = options_.common;
    const engine::SessionOptions& has = session_->options();
    const auto differ = [&](const char* option, const std::string& now, const std::string& was) {
        if (given.given(option) && now != "auto" && now != was)
            refuse_setting(info_.name, std::string("--") + option, now, was);
    };
    differ("chunk", std::to_string(given.chunk), std::to_string(has.chunk));
    differ("positions", given.positions, name_of(has.positions));
    differ("kv-type", given.kv_type, std::string(kernels::info(*has.kv_type).name));

    CommonOptions asked = given;
    asked.chunk = has.chunk;
    asked.kv_type = kernels::info(*has.kv_type).name;
    if (!given.given("policy")) asked.policy = has.policy.text();
    if (!given.given("budget")) asked.budget = std::to_string(has.budget);
    const engine::ModelConfig& config = model_->config();
    const engine::SessionOptions now = asked.session(config);
    differ("budget", std::to_string(now.budget), std::to_string(has.budget));
    const BegunWith begun(info_);
    const std::string policy = now.policy.text();
    if (policy == begun.policy_given || policy == begun.policy) return;
    const engine::PolicyContext context{config.layers, config.kv_heads, has.budget, has.pins};
    differ("policy", engine::make_policy(now.policy, context)->resolved().text(), has.policy.text());
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
    pins_ = std::make_unique<SessionPins>(store_, info_.id);
    begun_ = true;
}

std::string StoredSession::options_json() const
{
    const engine::SessionOptions& o = session_->options();
    ordered_json options{{"model", std::filesystem::absolute(model_->files().path).string()},
                         {"policy", o.policy.text()},
                         {"policy_given", engine::PolicySpec::parse(options_.common.policy).text()},
                         {"budget", o.budget},
                         {"chunk", o.chunk},
                         {"positions", name_of(o.positions)},
                         {"kv_type", kernels::info(*o.kv_type).name}};
    if (options_.talks)
        each_sampling_option(o.sampler, o.sampler,
                             [&](const char* key, const auto& value, const auto&) { options[key] = value; });
    return options.dump();
}

void StoredSession::resume()
{
    pins_ = std::make_unique<SessionPins>(store_, info_.id);
    parts_ = store_.conversations.stream(info_.id);
    for (const StreamPart& part : parts_)
        if (!part.document && !part.message && part.tokens != part.ids.size()) damaged_stream(info_.name);
    if (restore_newest()) return;
    const BegunWith begun(info_);
    CommonOptions common = options_.common;
    common.policy = begun.policy_given; // pins change what it resolves to
    common.budget = std::to_string(begun.budget);
    common.chunk = begun.chunk;
    common.positions = begun.positions;
    common.kv_type = begun.kv_type;
    common.sampler = begun.sampling(common.sampler);
    session_ = std::make_unique<engine::Session>(model_, common.session(model_->config()));
}

void StoredSession::choose_sampling()
{
    const engine::SamplerOptions& own = options_.common.sampler;
    engine::SamplerOptions wanted = BegunWith(info_).sampling(own);
    each_sampling_option(wanted, own, [&](std::string option, auto& value, const auto& now) {
        std::replace(option.begin(), option.end(), '_', '-');
        if (options_.common.given(option)) value = now;
    });
    if (wanted == session_->options().sampler) return;
    session_->set_sampler(wanted);
    sampling_is_stored_ = false;
}

// Of a state with these settings, which must be the session's (rules K2, K3).
uint64_t StoredSession::most_bytes(const engine::SessionState& state) const
{
    const BegunWith begun(info_);
    if (state.budget != begun.budget || state.chunk != begun.chunk || name_of(state.positions) != begun.positions ||
        kernels::info(state.kv_type).name != begun.kv_type || state.given.text() != begun.policy_given)
        throw Error(ErrorKind::Failed, "PAL-SNAP-02", "saved session", "it has other settings than the session",
                    "its text is safe; read it again");
    return engine::Session::largest_lists(*model_, state);
}

// The newest state that is whole; an older one and the tail of the text if the newest is damaged (P8). False: there
// is none, and all is to be read again.
bool StoredSession::restore_newest()
{
    std::optional<Error> first;
    std::vector<int64_t> refused;
    for (const storage::SnapshotInfo& snapshot : store_.snapshots.of(info_.id)) {
        try {
            const engine::SessionState state =
                store_.snapshots.load(snapshot.id, [&](const engine::SessionState& s) { return most_bytes(s); });
            if (state.tokens_seen + state.pending.size() > planned()) { // of a turn that was taken back
                if (!options_.read_only) store_.snapshots.remove(snapshot.id);
                continue;
            }
            session_ = engine::Session::restore(model_, state);
            snapshot_bytes_ = 2 * snapshot.bytes; // log and file
            if (first)
                write_note(console_, options_.common.events, std::string(first->what()) + "; an older one is used");
            for (const int64_t damaged : refused) // or it would be kept as one of the newest two
                if (!options_.read_only) store_.snapshots.remove(damaged);
            if (!options_.read_only) store_.conversations.drop_fading_after(info_.id, session_->tokens_seen());
            return true;
        } catch (const Error& error) {
            if (!concerns_snapshot(error)) throw;
            refused.push_back(snapshot.id);
            if (!first) first = error;
        }
    }
    if (first && !options_.reread) {
        throw Error(ErrorKind::Failed, first->code(), "session '" + printable(info_.name) + "'", first->text(),
                    "its text is safe; give --reread to read its " + format_count(planned()) + " tokens again" +
                        time_to_read(planned()));
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
        // An answer of no tokens has drawn one that ended it; a state at its place is one from after that.
        const bool is_empty_answer = part.message && part.tokens == 0 && begin > restored;
        if ((end > position() && !may_wait) || is_empty_answer) {
            feed_part(part, position() - begin);
            if (part.tokens > 0 && !is_question(i)) checkpoint_if_due(false);
        }
        begin = end;
    }
    fed_again_ = position() - restored;
    if (position() == planned()) pins_->apply(*session_);
    if (!options_.read_only) store_.conversations.stop_growing(info_.id);
}

void StoredSession::feed_part(const StreamPart& part, uint64_t skip)
{
    if (part.document) return feed_document(*part.document, skip, part.tokens - skip, nullptr);
    if (!part.message) return feed(rest_of(part.ids, skip), nullptr);
    const auto message = store_.conversations.message(*part.message);
    if (!message || message->damaged) damaged_stream(info_.name);
    const auto ids = rest_of(message->ids, skip);
    if (message->role == Role::User) return feed(ids, nullptr);
    const bool ended = message->state == MessageState::Complete;
    if (message->state == MessageState::Stopped && message->ids.empty()) return; // nothing was begun
    pins_->apply(*session_);
    const auto again = session_->replay(ids, ended, console_.stop);
    if (again && *again == std::ssize(ids)) return;
    if (again && *again > 0) save();
    throw Interrupted{"stopped while going back to where the session was; run it again to go on"};
}

// No state is saved between a question and its answer: it could not be told from one behind an answer of no tokens.
bool StoredSession::is_question(size_t part) const
{
    return part + 1 < parts_.size() && parts_[part].message && parts_[part + 1].message;
}

// The chunk at a document's end is computed as it is: what follows it begins a new one.
void StoredSession::feed_document(int64_t document, uint64_t first, uint64_t count, Progress* progress)
{
    const uint64_t total = position() + count, end = first + count;
    const auto sections = store_.library.sections(document);
    auto chapter = sections.begin();
    std::vector<engine::TokenId> ids; // from ids_begin on
    uint64_t ids_begin = first;
    while (first < end) {
        if (first == ids_begin + ids.size()) {
            ids = store_.library.ids(document, first, std::min(end - first, ids_at_once));
            ids_begin = first;
        }
        if (ids.empty())
            throw Error(ErrorKind::Failed, "PAL-DOC-05", "document " + std::to_string(document),
                        "its end is missing", "import it again");
        uint64_t stop = std::min(first + ids_between_looks, ids_begin + ids.size());
        while (chapter != sections.end() && chapter->first_token <= first)
            ++chapter;
        const bool at_chapter =
            chapter != sections.end() && chapter->first_token <= stop && chapter_checkpoint_is_due();
        if (at_chapter) stop = chapter->first_token;
        feed(std::span(ids).subspan(first - ids_begin, stop - first), progress, total);
        first = stop;
        if (first < end) checkpoint_if_due(at_chapter);
    }
    if (!session_->finish({.stop = console_.stop, .progress = {}, .loss = {}})) interrupted();
    pins_->apply(*session_);
    if (progress) progress->update(session_->telemetry(), 0, total);
}

void StoredSession::feed(std::span<const engine::TokenId> ids, Progress* progress, uint64_t total)
{
    if (!try_feed(ids, console_.stop, progress, total)) interrupted();
}

void StoredSession::interrupted()
{
    save();
    throw Interrupted{"stopped after " + format_count(position()) +
                      " tokens; they are saved, run it again to go on"};
}

bool StoredSession::try_feed(std::span<const engine::TokenId> ids, std::stop_token stop, Progress* progress,
                             uint64_t total)
{
    engine::FeedOptions feed{.stop = std::move(stop), .progress = {}, .loss = {}};
    if (progress)
        feed.progress = [&](const engine::Telemetry& t) {
            progress->written(store_.database.bytes_written());
            progress->update(t, 0, total);
        };
    bool fed = true;
    const auto begin = Clock::now();
    const uint64_t from = session_->tokens_seen();
    pins_->apply(*session_);
    while (fed && !ids.empty()) {
        const uint64_t count = std::min<uint64_t>(ids.size(), pins_->next(position()) - position());
        fed = session_->feed(ids.first(count), feed);
        ids = ids.subspan(count);
        if (fed) pins_->apply(*session_);
    }
    fed_tokens_ += session_->tokens_seen() - from;
    fed_seconds_ += seconds_since(begin);
    return fed;
}

void StoredSession::look_for_pins(const std::vector<StreamPart>& stream, bool all_must_be_there,
                                  const std::function<void()>& with_them)
{
    if (wishes_.empty()) {
        if (with_them) store_.database.transaction(with_them);
        return;
    }
    auto addition = pins_->look_for(wishes_, all_must_be_there, stream, *session_);
    store_.database.transaction([&] {
        pins_->store(addition);
        if (with_them) with_them();
    });
    wishes_ = std::move(addition.missing);
    for (const std::string& note : addition.notes)
        write_note(console_, options_.common.events, note);
    pins_->take(std::move(addition), *session_);
}

void StoredSession::pin(const std::vector<std::string>& wishes)
{
    const std::vector<std::string> before = std::exchange(wishes_, wishes);
    try {
        look_for_pins(parts_, true);
    } catch (...) {
        wishes_ = before;
        throw;
    }
    save();
}

void StoredSession::read(Document& document, bool more_follow)
{
    if (!parts_.empty() && parts_.back().document && position() < planned()) {
        const StreamPart last = parts_.back();
        const storage::DocumentInfo stored = store_.library.get(*last.document);
        const bool is_it = document.total_bytes() && stored.source == place_of(document);
        look_for_pins(parts_, is_it && !more_follow);
        if (!document.total_bytes() && stored.source == "-") went_on_ = stored;
        go_on(last, is_it && !is_as_stored(document, stored));
        if (is_it) return save();
    }
    if (!options_.again && was_read(document)) {
        look_for_pins(parts_, !more_follow);
        write_note(console_, options_.common.events, document.name() + " was read into this session before");
        return;
    }
    Progress progress(console_, Progress::style_for(console_, options_.common.events), document.name(),
                      std::nullopt);
    const std::optional<int64_t> id = [&] {
        try {
            return add_document(document, more_follow);
        } catch (...) {
            if (begun_ && parts_.empty()) store_.conversations.discard(info_.id); // it was for this document
            throw;
        }
    }();
    if (!id) return save(); // what was just read to its end
    progress.start_at(position(), position());
    feed_document(*id, 0, parts_.back().tokens, &progress);
    save();
}

// Reads on what is stored of a document, whatever its file has become.
void StoredSession::go_on(const StreamPart& part, bool has_changed)
{
    const storage::DocumentInfo stored = store_.library.get(*part.document);
    const uint64_t left = planned() - position(), read = part.tokens - left;
    write_note(console_, options_.common.events,
               "going on with " + stored.title + " at " + format_count(read) + " of " + format_count(part.tokens) +
                   " tokens" + (has_changed ? "; its file has changed, the text that was stored is read" : ""));
    Progress progress(console_, Progress::style_for(console_, options_.common.events), stored.title, std::nullopt);
    progress.start_at(position() - read, position());
    feed_document(*part.document, read, left, &progress);
}

// Whether the file is in the session as it is now. What comes from a pipe is never known before.
bool StoredSession::was_read(const Document& document)
{
    if (!document.total_bytes()) return false;
    bool is_there = false;
    for (const StreamPart& part : parts_) {
        if (!part.document) continue;
        const storage::DocumentInfo stored = store_.library.get(*part.document);
        if (stored.source != place_of(document)) continue;
        if (is_as_stored(document, stored)) return true;
        is_there = true;
    }
    if (!is_there) return false;
    throw Error(ErrorKind::Failed, "PAL-DOC-06", printable(document.name()),
                "it has changed since it was read into session '" + printable(info_.name) + "'",
                "read it into another --session, or with palimpsest read --again as a further document");
}

bool StoredSession::is_as_stored(const Document& document, const storage::DocumentInfo& stored) const
{
    if (stored.source_bytes < 0) return true; // by an older version, which did not note it
    if (static_cast<int64_t>(*document.total_bytes()) != stored.source_bytes) return false;
    Document again(document.name(), console_.in, console_.stop);
    for (std::string block; again.next(block);) {
    }
    return again.source_bytes() == stored.source_bytes && again.source_hash() == stored.source_hash;
}

// Takes a document in and puts it, with its framing, at the end of the stream.
std::optional<int64_t> StoredSession::add_document(Document& document, bool more_follow)
{
    const bool is_first = parts_.empty();
    const int64_t id = import(document, is_first && template_->document_is_first_text());
    const storage::DocumentInfo added = store_.library.get(id);
    const uint64_t tokens = added.tokens;
    if (went_on_ && added.source_bytes == went_on_->source_bytes && added.source_hash == went_on_->source_hash) {
        store_.library.remove(id);
        return std::nullopt;
    }
    if (tokens == 0) {
        store_.library.remove(id);
        throw Error(ErrorKind::Failed, "PAL-DOC-03", printable(document.name()), "it has no text",
                    "give a document with text");
    }
    StreamPart framing;
    framing.ids = is_first ? template_->open_user() : next_document(document.title());
    framing.tokens = framing.ids.size();
    const StreamPart part{.tokens = tokens, .document = id};
    std::vector<StreamPart> longer = parts_;
    longer.insert(longer.end(), {framing, part});
    try {
        session_->require_room(static_cast<int64_t>(framing.tokens + tokens));
        look_for_pins(longer, !more_follow, [&] {
            store_.conversations.append(info_.id, framing);
            store_.conversations.append(info_.id, part);
        });
    } catch (...) {
        store_.library.remove(id);
        throw;
    }
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
    engine::SectionFinder finder(document.is_markdown() ? engine::Markup::Markdown : engine::Markup::Plain);
    const auto add_sections = [&] {
        for (engine::Heading& h : finder.take())
            import.add_section(
                {.title = std::move(h.title), .first_token = h.first_token, .first_byte = h.first_byte});
    };
    Coverage coverage;
    encode_document(document, *tokenizer_, first_text, coverage,
                    [&](std::string_view clean, std::span<const engine::EncodedToken> tokens) {
                        import.add_text(clean);
                        import.add_tokens(tokens);
                        finder.push(clean);
                        finder.push(tokens);
                        add_sections();
                    });
    finder.finish();
    add_sections();
    return import.finish({.words = document.words(),
                          .invalid_sequences = coverage.invalid_sequences,
                          .nul_characters = coverage.nul_characters,
                          .source_bytes = document.source_bytes(),
                          .source_hash = document.source_hash()});
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

// A chapter's end is worth one a little earlier.
bool StoredSession::chapter_checkpoint_is_due() const
{
    return seconds_since(saved_) >= options_.checkpoint_seconds / 4;
}

// At most one a minute, and no more bytes than a state every ten minutes or 100 MB per million tokens would take.
void StoredSession::checkpoint_if_due(bool at_chapter)
{
    const double seconds = seconds_since(saved_);
    if (seconds < options_.checkpoint_seconds && !(at_chapter && chapter_checkpoint_is_due())) return;
    const uint64_t expected = std::max(snapshot_bytes_, session_->telemetry().cache_bytes);
    const uint64_t allowed = 100 * (position() - opened_at_);
    const uint64_t written = store_.database.bytes_written() - written_at_open_;
    if (seconds < 600 && written + expected > allowed) return;
    save_if_there_is_room();
}

// The text is stored without it: on a full disk a state is the first thing to go without (P4).
void StoredSession::save_if_there_is_room()
try {
    save();
} catch (const Error& error) {
    if (error.code() != "PAL-DISK-01") throw;
    saved_ = Clock::now(); // not at once again
    write_note(console_, options_.common.events,
               "the state at " + format_count(position()) + " tokens is not saved: " + error.text());
    try {
        store_.snapshots.sweep(); // what there was room for
    } catch (const Error&) {
        // The next start does it.
    }
}

void StoredSession::save()
{
    if (options_.read_only) return;
    if (!store_turns()) throw *not_stored_; // a state of text that is not there could not be used
    const engine::SessionState state = session_->state();
    const uint64_t before = store_.database.bytes_written();
    store_.snapshots.save(info_.id, state, [&] {
        store_.conversations.append_fading(info_.id, faded_, state.tokens_seen);
        store_.conversations.touch(info_.id);
        note_rate();
    });
    faded_.clear();
    sampling_is_stored_ = true;
    snapshot_bytes_ = store_.database.bytes_written() - before;
    saved_ = Clock::now();
    if (options_.common.events)
        write_event(console_.err, {{"event", "checkpoint"},
                                   {"tokens_seen", state.tokens_seen},
                                   {"bytes_written", store_.database.bytes_written()}});
}

std::string StoredSession::rate_key() const
{
    const kernels::Backend& backend = model_->backend();
    return "tokens per second: " + model_->fingerprint() + " " + backend.name() + " " + backend.simd_target() +
           " " + std::to_string(backend.threads());
}

void StoredSession::note_rate()
{
    constexpr uint64_t enough = 2048;
    if (fed_tokens_ < enough || fed_seconds_ <= 0) return;
    store_.settings.set(rate_key(), std::to_string(static_cast<double>(fed_tokens_) / fed_seconds_));
    fed_tokens_ = 0;
    fed_seconds_ = 0;
}

std::string StoredSession::time_to_read(uint64_t tokens)
{
    const double rate = std::atof(store_.settings.get(rate_key()).value_or("0").c_str());
    return rate > 0 ? ", about " + format_duration(static_cast<double>(tokens) / rate) : "";
}

uint64_t StoredSession::strip()
{
    const uint64_t before = store_.database.file_bytes();
    store_.snapshots.remove_all(info_.id);
    store_.database.shrink();
    return before - std::min(before, store_.database.file_bytes());
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
    resume();
    watch_fading();
    catch_up(true);
    choose_sampling();
    save();
}

engine::GenerateResult StoredSession::say(const std::string& message, const engine::GenerateOptions& options)
{
    if (!read_rest(options.stop)) {
        write_note(console_, options_.common.events,
                   "the question before is not read to its end yet; say it again");
        return {.tokens = {}, .end = engine::GenerateEnd::Cancelled};
    }
    if (position() != planned())
        throw Error(ErrorKind::Usage, "PAL-SESSION-03", "session '" + printable(info_.name) + "'",
                    "its document is not read to its end yet",
                    "let it go on first: palimpsest read FILE --session " + printable(info_.name));
    check_message(message);
    if (!sampling_is_stored_) save_if_there_is_room(); // so that an answer cut short can be generated again
    Turn& turn = begin_turn(message);
    Message& reply = turn.reply;
    store_turns();
    unread_ = turn.question.ids;
    if (!read_rest(options.stop)) return end_turn(turn, {.tokens = {}, .end = engine::GenerateEnd::Cancelled});

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
    engine::GenerateResult result = session_->generate(growing);
    reply.text += detokenizer.finish();
    return end_turn(turn, std::move(result));
}

// Before anything of it is stored: what can never be fed would keep the session from going on.
void StoredSession::check_message(const std::string& message) const
{
    constexpr uint64_t most_bytes = 16 << 20; // of a transaction (L18)
    const auto tokens = this->turn(message).size();
    if (message.size() + tokens * sizeof(engine::TokenId) > most_bytes)
        throw Error(ErrorKind::Usage, "PAL-SESSION-08", "message",
                    "it has " + format_bytes(message.size()) + ", which is too much for a turn",
                    "read it as a document: palimpsest read FILE --session " + printable(info_.name));
    session_->require_room(static_cast<int64_t>(tokens));
}

bool StoredSession::read_rest(std::stop_token stop)
{
    const uint64_t begin = position();
    const bool all = try_feed(unread_, std::move(stop));
    unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(position() - begin));
    return all;
}

engine::GenerateResult StoredSession::end_turn(Turn& turn, engine::GenerateResult result)
{
    Message& reply = turn.reply;
    reply.state = result.end == engine::GenerateEnd::EndOfText ? MessageState::Complete
                  : result.end == engine::GenerateEnd::Length  ? MessageState::Cut
                                                               : MessageState::Stopped;
    parts_.back().tokens = reply.ids.size();
    if (!store_turns()) return result;
    try {
        save_if_there_is_room();
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

bool StoredSession::store_turns()
{
    if (not_stored_ && not_stored_->code() == "PAL-DISK-02") return false; // P5: no retry and hope
    if (turns_.empty()) return true;
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
    turn.question.parent = parent;
    turn.question.id = store_.conversations.add_message(info_.id, turn.question);
    turn.reply.parent = turn.question.id;
    turn.reply.id = store_.conversations.add_message(info_.id, turn.reply);
    store_.conversations.append(info_.id, {.message = turn.question.id});
    store_.conversations.append(info_.id, {.message = turn.reply.id});
}

} // namespace palimpsest::app
