#include "storage/session/stored_session.h"

#include <algorithm>
#include <utility>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/models/model_listing.h"
#include "storage/session/list_lengths.h"
#include "storage/session/model_choice.h"
#include "storage/session/protocol.h"
#include "storage/session/scoped_value.h"
#include "storage/session/session_settings.h"

namespace palimpsest::storage {
namespace {

constexpr uint64_t ids_at_once = 65536;
constexpr uint64_t ids_between_looks = 512; // at the clock, at least: what a model takes at once
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

} // namespace

StoredSession::StoredSession(Store& store, const std::string& name, const StoredOptions& options,
                             Listener& listener)
    : store_(store), options_(options), listener_(listener), wishes_(options.choice.pins)
{
    for (const std::string& notice : store_.notices)
        listener_.note(notice);
    if (options_.model) options_.choice.model = options_.model->files().path.string();
    const auto found = store_.conversations.find(name);
    if (found) {
        info_ = *found;
        if (!options_.model && !options_.choice.given("model"))
            options_.choice.model = SessionSettings(info_).model;
        if (!options_.choice.given("compute")) options_.choice.compute = SessionSettings(info_).compute;
    }
    question_ = found ? SessionSettings(info_).question : options_.question.value_or("");
    load();
    if (found) check_model();
    tokenizer_ = &require_tokenizer(*model_);
    framing_.system = found ? SessionSettings(info_).system : options_.choice.system;
    if (found)
        framing_.date = SessionSettings(info_).date;
    else if (engine::ChatTemplate::prints_date(model_->files().vocabulary))
        framing_.date = today();
    make_template();
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
    }
    with_fallback([&] { open(name); });
    if (found) {
        check_cache_options();
        check_question();
        check_system();
        // A session that is only read cannot go on later, and a question needs all of the lost text.
        with_fallback([&] { catch_up(options_.read_only && options_.reread && position() == 0); });
    }
    documents_may_wait_ = false;
    opened_at_ = position();
    written_at_open_ = store_.database.bytes_written();
}

void StoredSession::load()
{
    if (options_.model) {
        model_ = options_.model;
        return;
    }
    const auto known = store_.conversations.find(info_.name);
    const SessionChoice own = known ? begun_with() : options_.choice;
    // Where pins or a question change, the session is made anew beside itself.
    const int sessions = options_.choice.pins.empty() && question_.empty() ? 1 : 2;
    try {
        model_ = load_model(options_.choice, own, sessions);
        for (const std::string& note : notes_of_default(options_.choice, *model_))
            listener_.note(note);
        if (const auto note = note_of_memory(*model_, own, sessions)) listener_.note(*note);
    } catch (const Error& error) {
        if (!is_device_loss(error)) throw;
        lost_device_ = options_.choice.device;
        listener_.device_lost(lost_device_);
        choose_cpu();
        model_ = load_model(options_.choice, own);
    }
}

void StoredSession::open(const std::string& name)
{
    if (session_) return; // the fallback did
    const bool is_there = begun_ || options_.read_only || store_.conversations.find(name).has_value();
    is_there ? resume() : begin(name);
    watch_fading();
}

// A stored session goes on there with the products it was begun with.
void StoredSession::choose_cpu()
{
    options_.choice.device = "cpu";
    if (const auto known = store_.conversations.find(info_.name))
        options_.choice.compute = SessionSettings(*known).compute;
}

// Nothing of the failed device is used or given back: the driver takes it when the process ends.
void StoredSession::go_on_without_device()
{
    const std::string device = model_->backend().name();
    if (!lost_device_.empty())
        throw Error(ErrorKind::Resources, "PAL-GPU-03", "device '" + device + "'", "it stopped responding",
                    "start palimpsest again; what was said and read is saved");
    if (!store_turns()) throw *not_stored_;
    lost_device_ = device;
    listener_.device_lost(device);
    session_.reset();
    lost_model_ = std::move(model_);
    choose_cpu();
    model_ = load_model(options_.choice, options_.choice);
    unread_.clear();
    if (!begun_ && !store_.conversations.find(info_.name)) return; // it was not begun yet
    const ScopedValue goes_back(goes_back_, true);
    {
        const ScopedValue may_reread(options_.reread, true);
        resume();
    }
    watch_fading();
    if (position() == 0 && planned() > 0)
        listener_.note("its states are the graphics card's own: the " + format_count(planned()) +
                       " tokens of its text are read again" + time_to_read(planned()));
    catch_up(!documents_may_wait_);
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

// Other devices have one way to compute, and so has a processor without VNNI.
void StoredSession::check_compute() const
{
    if (model_->backend().name() != "cpu") return;
    const std::string &now = options_.choice.compute, began_with = SessionSettings(info_).compute;
    const bool is_exact = model_->backend().exact_products(), was_exact = began_with == "f32";
    if (was_exact && !is_exact) refuse_setting(info_.name, "--compute", "auto", began_with);
    if (!was_exact && options_.choice.given("compute") && now == "f32")
        refuse_setting(info_.name, "--compute", now, began_with);
}

void StoredSession::check_model() const
{
    check_compute();
    if (model_->fingerprint() == info_.model) return;
    if (!options_.choice.given("model"))
        throw Error(ErrorKind::Failed, "PAL-SNAP-02", "session '" + printable(info_.name) + "'",
                    "its model file is another one than it was begun with (" + printable(info_.model_name) + ")",
                    "its text is safe; give --model with the one it was begun with, or read its document into "
                    "another --session");
    const auto name = [](const std::string& model) { return is_ollama_blob(model) ? model_name(model) : model; };
    refuse_setting(info_.name, "--model", name(options_.choice.model), name(SessionSettings(info_).model));
}

void StoredSession::keep_question_in_mind(bool reads_document)
{
    session_->set_probe(reads_document ? question_rows_ : std::vector<engine::TokenId>{});
}

void StoredSession::check_question() const
{
    if (!options_.question || *options_.question == question_) return;
    const std::string was =
        question_.empty() ? "without a question in mind" : "with '" + printable(question_) + "' in mind";
    throw Error(ErrorKind::Usage, "PAL-SESSION-06", "session '" + printable(info_.name) + "'",
                "it is read " + was + ", and '" + printable(*options_.question) + "' was given now",
                "leave the question out, or read the document into another --session");
}

void StoredSession::check_system() const
{
    const std::string& now = options_.choice.system;
    if (!options_.choice.given("system") || now == framing_.system) return;
    const std::string was =
        framing_.system.empty() ? "without a system prompt" : "with '" + printable(framing_.system) + "'";
    throw Error(ErrorKind::Usage, "PAL-SESSION-06", "session '" + printable(info_.name) + "'",
                "it was begun " + was + ", and --system '" + printable(now) + "' was given now",
                "leave --system out, or begin another --session");
}

void StoredSession::refuse_budget() const
{
    const engine::SessionOptions& has = session_->options();
    refuse_setting(info_.name, "--budget", options_.choice.budget,
                   (budget_is_auto(has.policy) ? "auto:" : "") + budget_text(has.budget));
}

// The options given now, and the session's own where none was given.
SessionChoice StoredSession::asked() const
{
    const engine::SessionOptions& has = session_->options();
    SessionChoice asked = options_.choice;
    asked.chunk = has.chunk;
    asked.kv_type = kv_type_name(*has.kv_type);
    const bool has_budget = asked.given("budget"), has_policy = asked.given("policy");
    if (!has_budget) asked.budget = budget_text(has.budget);
    if (!has_policy) asked.policy = has.policy.text();
    if (has_budget && !has_policy && asked.budget_is_auto() != budget_is_auto(has.policy)) refuse_budget();
    return asked;
}

// The kept tokens were chosen under the options the session was begun with; others would need the document again.
void StoredSession::check_cache_options() const
{
    const SessionChoice& given = options_.choice;
    const engine::SessionOptions& has = session_->options();
    const auto differ = [&](const char* option, const std::string& now, const std::string& was) {
        if (given.given(option) && now != "auto" && now != was)
            refuse_setting(info_.name, std::string("--") + option, now, was);
    };
    differ("chunk", std::to_string(given.chunk), std::to_string(has.chunk));
    differ("positions", given.positions, name_of(has.positions));
    differ("kv-type", given.kv_type, kv_type_name(*has.kv_type));

    const engine::ModelConfig& config = model_->config();
    const engine::SessionOptions now = asked().session(config);
    const bool is_default = now.budget == 0; // of the policy, or the cap of "auto"
    if (given.given("budget") &&
        (budget_is_auto(now.policy) != budget_is_auto(has.policy) || (!is_default && now.budget != has.budget)))
        refuse_budget();
    const SessionSettings begun(info_);
    const std::string policy = now.policy.text();
    if (!given.given("policy") || policy == begun.policy_given || policy == begun.policy) return;
    engine::SessionOptions with_policy = has;
    with_policy.policy = now.policy;
    if (engine::policy_of(with_policy, config)->resolved() != has.policy) // spelled out they may be long
        refuse_setting(info_.name, "--policy", policy, begun.policy_given);
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
    engine::SessionOptions options = options_.choice.session(model_->config());
    if (options_.question) make_room_for(question_rows_, model_->config(), options_.question_option, options);
    session_ = std::make_unique<engine::Session>(model_, options);
    if (options_.question) steer(*session_, question_rows_, options_.question_option);
    info_ = {.name = name,
             .model = model_->fingerprint(),
             .model_name = model_title(model_->files()),
             .options = SessionSettings::json(
                 *session_, {options_.choice.policy_spec(), question_, framing_, options_.talks})};
    info_.id = store_.conversations.create(info_);
    pins_ = std::make_unique<SessionPins>(store_, info_.id);
    begun_ = true;
    if (!framing_.system.empty() && !template_->warning().empty()) listener_.note(template_->warning());
}

void StoredSession::resume()
{
    pins_ = std::make_unique<SessionPins>(store_, info_.id);
    parts_ = store_.conversations.stream(info_.id);
    for (const StreamPart& part : parts_)
        if (!part.document && !part.message && part.tokens != part.ids.size()) damaged_stream(info_.name);
    keep_plain_framing();
    if (!restore_newest()) session_ = fresh();
}

void StoredSession::make_template()
{
    template_ = std::make_unique<engine::ChatTemplate>(model_->files().vocabulary, *tokenizer_, framing_);
    if (!question_.empty()) question_rows_ = question_turn(*template_, question_);
}

// A session of a version that framed this model's turns plainly goes on as it was begun. Whether BOS came first
// says nothing: earlier versions left it to the model, also where the template prints it.
void StoredSession::keep_plain_framing()
{
    if (parts_.empty() || parts_.front().document || template_->plain()) return;
    std::vector<engine::TokenId> first = parts_.front().ids;
    if (parts_.front().message) {
        const auto message = store_.conversations.message(*parts_.front().message);
        if (!message || message->damaged) return;
        first = message->ids;
    }
    std::vector<engine::TokenId> own = template_->open_user();
    for (auto* ids : {&own, &first})
        if (!ids->empty() && ids->front() == tokenizer_->bos()) ids->erase(ids->begin());
    if (first.size() >= own.size() && std::equal(own.begin(), own.end(), first.begin())) return;
    framing_.plain = true;
    make_template();
}

std::unique_ptr<engine::Session> StoredSession::fresh() const
{
    engine::SessionOptions options = begun_with().session(model_->config());
    options.probe_room = static_cast<int32_t>(question_rows_.size());
    return std::make_unique<engine::Session>(model_, options);
}

SessionChoice StoredSession::begun_with() const
{
    const SessionSettings begun(info_);
    SessionChoice choice = options_.choice;
    choice.policy = begun.policy_given; // pins change what it resolves to
    choice.budget = budget_text(begun.budget);
    choice.chunk = begun.chunk;
    choice.positions = begun.positions;
    choice.kv_type = begun.kv_type;
    choice.sampler = begun.sampling(choice.sampler);
    return choice;
}

void StoredSession::choose_sampling()
{
    const engine::SamplerOptions& own = options_.choice.sampler;
    engine::SamplerOptions wanted = SessionSettings(info_).sampling(own);
    each_sampling_option(wanted, own, [&](std::string option, auto& value, const auto& now) {
        std::replace(option.begin(), option.end(), '_', '-');
        if (options_.choice.given(option)) value = now;
    });
    if (wanted == session_->options().sampler) return;
    session_->set_sampler(wanted);
    sampling_is_stored_ = false;
}

// The most bytes of a state, whose settings must be the session's: known before its lists are read.
uint64_t StoredSession::most_bytes(const engine::SessionState& state) const
{
    const SessionSettings begun(info_);
    if (state.budget != begun.budget || state.chunk != begun.chunk || name_of(state.positions) != begun.positions ||
        kv_type_name(state.kv_type) != begun.kv_type || state.given.text() != begun.policy_given ||
        state.probe_room != static_cast<int32_t>(question_rows_.size()) ||
        (!state.probe_tokens.empty() && state.probe_tokens != question_rows_))
        throw Error(ErrorKind::Failed, "PAL-SNAP-02", "saved session", "it has other settings than the session",
                    "its text is safe; read it again");
    return engine::Session::largest_lists(*model_, state);
}

// The newest state that is whole; an older one and the tail of the text if the newest is damaged. False: there
// is none, and all is to be read again.
bool StoredSession::restore_newest()
{
    std::optional<Error> first;
    std::vector<int64_t> damaged;
    for (const SnapshotInfo& snapshot : store_.snapshots.of(info_.id)) {
        try {
            const engine::SessionState state =
                store_.snapshots.load(snapshot.id, [&](const engine::SessionState& s) { return most_bytes(s); });
            if (state.tokens_seen + state.pending.size() > planned()) { // of a turn that was taken back
                if (!options_.read_only) store_.snapshots.remove(snapshot.id);
                continue;
            }
            session_ = engine::Session::restore(model_, state);
            snapshot_bytes_ = 2 * snapshot.bytes; // log and file
            if (first) listener_.note(std::string(first->what()) + "; an older one is used");
            for (const int64_t id : damaged) // or it would be kept as one of the newest two
                if (!options_.read_only) store_.snapshots.remove(id);
            if (!options_.read_only) store_.conversations.drop_fading_after(info_.id, session_->tokens_seen());
            return true;
        } catch (const Error& error) {
            if (!concerns_snapshot(error)) throw;
            if (error.code() == "PAL-SNAP-03") damaged.push_back(snapshot.id);
            if (!first) first = error;
        }
    }
    if (first && !options_.reread) {
        throw Error(ErrorKind::Failed, first->code(), "session '" + printable(info_.name) + "'", first->text(),
                    first->remedy() + "; its text is safe; give --reread to read its " + format_count(planned()) +
                        " tokens again" + time_to_read(planned()));
    }
    if (options_.read_only) return false;
    for (const int64_t id : damaged) // others were good where they were made
        store_.snapshots.remove(id);
    store_.conversations.drop_fading_after(info_.id, 0);
    return false;
}

// The newest state that stands no later, or one of which nothing was read. Nothing stored changes.
void StoredSession::restore_before(uint64_t tokens)
{
    session_.reset(); // or memory would hold both
    for (const SnapshotInfo& snapshot : store_.snapshots.of(info_.id)) {
        if (snapshot.tokens_seen > tokens) continue;
        try {
            const engine::SessionState state =
                store_.snapshots.load(snapshot.id, [&](const engine::SessionState& s) { return most_bytes(s); });
            if (state.tokens_seen + state.pending.size() > tokens) continue;
            session_ = engine::Session::restore(model_, state);
            return;
        } catch (const Error& error) {
            if (!concerns_snapshot(error)) throw;
        }
    }
    session_ = fresh();
}

uint64_t StoredSession::planned() const
{
    return tokens_before(parts_.size());
}

uint64_t StoredSession::tokens_before(size_t part) const
{
    uint64_t tokens = 0;
    for (size_t i = 0; i < part; ++i)
        tokens += parts_[i].tokens;
    return tokens;
}

std::vector<engine::FadeEvent> StoredSession::fading()
{
    std::vector<engine::FadeEvent> all;
    fading([&](std::span<const engine::FadeEvent> events) { all.insert(all.end(), events.begin(), events.end()); });
    return all;
}

void StoredSession::fading(const engine::FadeSink& sink)
{
    store_.conversations.each_fading(info_.id, [&](std::span<const engine::FadeEvent> events) {
        sink(events);
        return true;
    });
    sink(faded_);
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
    bool is_question = false;
    for (size_t i = 0; i < parts_.size(); ++i) {
        const StreamPart& part = parts_[i];
        const uint64_t end = begin + part.tokens;
        // Messages come in pairs. No state is saved between the two: it could not be told from one behind an answer
        // of no tokens.
        is_question = part.message && !is_question;
        const bool may_wait = part.document && i + 1 == parts_.size() && !finish_document;
        // An answer of no tokens has drawn one that ended it; a state at its place is one from after that.
        const bool is_empty_answer = part.message && part.tokens == 0 && begin > restored;
        if ((end > position() && !may_wait) || is_empty_answer) {
            feed_part(part, position() - begin);
            if (!is_question) checkpoint_if_due(false);
        }
        begin = end;
    }
    fed_again_ += position() - restored;
    if (position() == planned()) pins_->apply(*session_);
    if (!options_.read_only) store_.conversations.stop_growing(info_.id);
}

void StoredSession::feed_part(const StreamPart& part, uint64_t skip)
{
    keep_question_in_mind(!part.message);
    if (part.document && (goes_back_ || options_.tells_catching_up)) {
        const std::string title = store_.library.get(*part.document).title;
        ReadingMeter progress(listener_, title);
        progress.start_at(position() - skip, position());
        return feed_document(*part.document, skip, part.tokens - skip, &progress);
    }
    if (part.document) return feed_document(*part.document, skip, part.tokens - skip, nullptr);
    if (!part.message) return feed(rest_of(part.ids, skip), nullptr);
    const auto message = store_.conversations.message(*part.message);
    if (!message || message->damaged) damaged_stream(info_.name);
    const auto ids = rest_of(message->ids, skip);
    if (message->role == Role::User) return feed(ids, nullptr);
    for (const Turn& turn : turns_)
        if (turn.sampling && turn.reply.id == message->id) session_->set_sampler(*turn.sampling);
    const bool ended = message->state == MessageState::Complete;
    const bool may_not_be_begun =
        message->state == MessageState::Stopped || message->state == MessageState::Growing;
    if (may_not_be_begun && message->ids.empty()) return;
    pins_->apply(*session_);
    const auto again = session_->replay(ids, ended, stop());
    if (again && *again == std::ssize(ids)) return;
    if (again && *again > 0) save();
    throw Interrupted{"stopped while going back to where the session was"};
}

// The chunk at a document's end is computed as it is: what follows it begins a new one.
void StoredSession::feed_document(int64_t document, uint64_t first, uint64_t count, ReadingMeter* progress)
{
    keep_question_in_mind(true);
    const uint64_t total = position() + count, end = first + count;
    const auto sections = store_.library.sections(document);
    auto chapter = sections.begin();
    const uint64_t at_once = std::max(ids_between_looks, static_cast<uint64_t>(session_->options().rows_at_once));
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
        uint64_t stop = std::min(first + at_once, ids_begin + ids.size());
        while (chapter != sections.end() && chapter->first_token <= first)
            ++chapter;
        const bool at_chapter =
            chapter != sections.end() && chapter->first_token <= stop && chapter_checkpoint_is_due();
        if (at_chapter) stop = chapter->first_token;
        feed(std::span(ids).subspan(first - ids_begin, stop - first), progress, total);
        first = stop;
        if (first < end) checkpoint_if_due(at_chapter);
    }
    if (!session_->finish({.stop = stop(), .progress = {}, .loss = {}})) interrupted();
    pins_->apply(*session_);
    if (progress) progress->update(*session_, session_->telemetry(), 0, total);
}

void StoredSession::feed(std::span<const engine::TokenId> ids, ReadingMeter* progress, uint64_t total)
{
    if (!try_feed(ids, stop(), progress, total)) interrupted();
}

void StoredSession::interrupted()
{
    if (options_.read_only) throw Interrupted{"stopped while going back to where the session was"};
    save();
    throw Interrupted{"stopped after " + format_count(position()) +
                      " tokens; they are saved, run it again to go on"};
}

bool StoredSession::try_feed(std::span<const engine::TokenId> ids, std::stop_token stop, ReadingMeter* progress,
                             uint64_t total)
{
    engine::FeedOptions feed{.stop = std::move(stop), .progress = {}, .loss = {}};
    if (progress)
        feed.progress = [&](const engine::Telemetry& t) {
            progress->written(store_.database.bytes_written());
            progress->update(*session_, t, 0, total);
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

// A chapter's end is worth one a little earlier.
bool StoredSession::chapter_checkpoint_is_due() const
{
    return seconds_since(saved_) >= options_.checkpoint_seconds / 4;
}

// The bytes that writing a state takes, about: tokens, sums, counts, keys and values of every slot, into log and
// file.
uint64_t StoredSession::state_bytes() const
{
    const auto slot = static_cast<uint64_t>(
        2 * kernels::row_bytes(*session_->options().kv_type, model_->config().head_dim) + 2 * 8 + 4);
    return 2 * slot * static_cast<uint64_t>(session_->telemetry().slots_used);
}

// At most one a minute, and no more bytes than a state every ten minutes or 100 MB per million tokens would take,
// the state at the end among them.
void StoredSession::checkpoint_if_due(bool at_chapter)
{
    const double seconds = seconds_since(saved_);
    if (seconds < options_.checkpoint_seconds && !(at_chapter && chapter_checkpoint_is_due())) return;
    const uint64_t expected = snapshot_bytes_ > 0 ? snapshot_bytes_ : state_bytes();
    const uint64_t allowed = 100 * (position() - opened_at_);
    const uint64_t written = store_.database.bytes_written() - written_at_open_;
    if (seconds < 600 && written + 2 * expected > allowed) return;
    save_if_there_is_room();
}

// The text is stored without it: on a full disk a state is the first thing to go without.
void StoredSession::save_if_there_is_room()
try {
    save();
} catch (const Error& error) {
    if (error.code() != "PAL-DISK-01") throw;
    saved_ = Clock::now(); // not at once again
    listener_.note("the state at " + format_count(position()) + " tokens is not saved: " + error.text());
    try {
        store_.snapshots.sweep(); // what there was room for
    } catch (const Error&) {
        // The next start does it.
    }
}

void StoredSession::save()
{
    if (options_.read_only || !saves_) return;
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
    listener_.saved(state.tokens_seen, store_.database.bytes_written());
}

std::string StoredSession::rate_key() const
{
    const kernels::Backend& backend = model_->backend();
    return "tokens per second: " + model_->fingerprint() + " " + backend.name() + " " + backend.simd_target() +
           " " + compute_name(backend) + " " + std::to_string(backend.threads());
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

} // namespace palimpsest::storage
