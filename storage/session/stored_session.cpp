#include "storage/session/stored_session.h"

#include <utility>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/notes/notes.h"
#include "storage/session/model_choice.h"
#include "storage/session/protocol.h"
#include "storage/session/scoped_value.h"
#include "storage/session/session_checks.h"
#include "storage/session/session_settings.h"

namespace palimpsest::storage {

StoredSession::StoredSession(Store& store, const std::string& name, const StoredOptions& options,
                             Listener& listener)
    : context_{.store = store, .options = options, .listener = listener}, journal_(context_), rate_(context_),
      fallback_([this](LastDocument last) { move_to_cpu(last); })
{
    for (const Text& notice : store.notices)
        listener.note(notice);
    const auto found = store.conversations.find(name);
    context_.info = found.value_or(SessionInfo{});
    choose_stored_options(found.has_value());
    load();
    if (found) check_model(context_);
    const std::string question = found ? SessionSettings(*found).question : options.question.value_or("");
    framing_ = std::make_unique<SessionFraming>(context_.model, framing_options(found.has_value()), question);
    if (!found && options.read_only) store.conversations.get(name); // throws that there is no such session
    make_parts();
    if (!found) context_.info.name = name;
    if (options.read_only) begin_read_only_view();
    fallback_.run([&] { open(); }, LastDocument::MayStayHalfRead);
    if (found) {
        check_cache_options(context_);
        check_question(context_, *framing_);
        check_system(context_, *framing_);
        store_snapshot_form();
        fallback_.run(
            [&] {
                // A read-only session cannot read the rest of a document later, and a question to it needs all of
                // the text.
                const bool reads_all = options.read_only && options.recompute && context_.position() == 0;
                feeder_->catch_up(reads_all ? LastDocument::Finish : LastDocument::MayStayHalfRead,
                                  feeder_->usual());
            },
            LastDocument::MayStayHalfRead);
    }
    checkpoints_->tell_if_exact();
    checkpoints_->start_counting();
}

void StoredSession::choose_stored_options(bool is_stored)
{
    StoredOptions& options = context_.options;
    if (options.model) options.choice.model = options.model->files().path.string();
    context_.snapshot_form = options.choice.snapshot_form();
    if (!is_stored) return;
    const SessionSettings stored(context_.info);
    if (!options.choice.given(Setting::Snapshot)) context_.snapshot_form = stored.snapshot;
    if (!options.model && !options.choice.given(Setting::Model))
        options.choice.model = find_model_of(context_.info.model, stored.model);
    if (!options.choice.given(Setting::Compute)) options.choice.compute = stored.compute;
}

void StoredSession::load()
{
    const StoredOptions& options = context_.options;
    if (options.model) {
        context_.model = options.model;
        return;
    }
    const bool is_stored = context_.info.id != 0;
    const SessionChoice own = is_stored ? context_.begun_with() : options.choice;
    const bool has_question =
        is_stored ? !SessionSettings(context_.info).question.empty() : !options.question.value_or("").empty();
    // Pins and a question can change the sizes of the cache: it is then rebuilt while the old one is in memory.
    // Notes are written by a copy.
    const bool needs_two = !options.choice.pins.empty() || has_question || options.notes != NoteMode::Never;
    const int sessions = needs_two ? 2 : 1;
    try {
        context_.model = load_model(options.choice, own, sessions);
        for (const Text& note : notes_of_default(options.choice, *context_.model))
            context_.listener.note(note);
        if (const auto note = note_of_memory(*context_.model, own, sessions)) context_.listener.note(*note);
    } catch (const Error& error) {
        if (!is_device_loss(error)) throw;
        lost_device_ = options.choice.device;
        context_.listener.device_lost(lost_device_);
        choose_cpu();
        context_.model = load_model(context_.options.choice, own);
    }
}

engine::FramingOptions StoredSession::framing_options(bool is_stored) const
{
    engine::FramingOptions framing;
    framing.system = is_stored ? SessionSettings(context_.info).system : context_.options.choice.system;
    if (is_stored)
        framing.date = SessionSettings(context_.info).date;
    else if (engine::ChatTemplate::prints_date(context_.model->files().vocabulary))
        framing.date = today();
    return framing;
}

void StoredSession::make_parts()
{
    checkpoints_ = std::make_unique<Checkpoints>(context_, *framing_, journal_, rate_);
    note_taking_ = std::make_unique<NoteTaking>(context_, *framing_, *checkpoints_);
    feeder_ = std::make_unique<StreamFeeder>(context_, *framing_, journal_, *checkpoints_, *note_taking_, rate_);
    pin_requests_ = std::make_unique<PinRequests>(context_);
    documents_ =
        std::make_unique<SessionDocuments>(context_, *framing_, *feeder_, *checkpoints_, *pin_requests_, fallback_);
    turns_ = std::make_unique<SessionTurns>(context_, *framing_, *feeder_, *checkpoints_, journal_, fallback_);
}

void StoredSession::begin_read_only_view()
{
    Database& database = context_.store.database;
    database.guarded([&] {
        view_ = std::make_unique<SQLite::Transaction>(database.sql(), SQLite::TransactionBehavior::DEFERRED);
    });
}

// A form that is given now applies to all checkpoints to come.
void StoredSession::store_snapshot_form()
{
    if (context_.options.read_only) return;
    const SessionSettings settings(context_.info);
    if (context_.snapshot_form == settings.snapshot) return;
    const std::string changed = settings.json_with(context_.snapshot_form);
    context_.store.database.transaction([&] { context_.store.conversations.set_options(id(), changed); });
    context_.info.options = changed;
}

void StoredSession::open()
{
    if (context_.session) return; // move_to_cpu opened it
    context_.info.id != 0 ? resume() : begin();
}

void StoredSession::begin()
{
    const StoredOptions& given = context_.options;
    engine::SessionOptions options = given.choice.session(context_.model->config());
    if (given.question)
        make_room_for(framing_->question_ids(), context_.model->config(), given.question_option, options);
    context_.session = std::make_unique<engine::Session>(context_.model, options);
    if (given.question) steer(*context_.session, framing_->question_ids(), given.question_option);
    SessionInfo info{.name = context_.info.name,
                     .model = context_.model->fingerprint(),
                     .model_name = model_title(context_.model->files()),
                     .options = SessionSettings::json(
                         *context_.session, {given.choice.policy_spec(), framing_->question(), framing_->options(),
                                             given.talks, given.choice.snapshot_form()})};
    info.id = context_.store.conversations.create(info);
    context_.info = info;
    context_.pins = std::make_unique<SessionPins>(context_.store, info.id);
    context_.is_begun_here = true;
    const Text& warning = framing_->chat_template().warning();
    if (!framing_->system().empty() && !warning.empty()) context_.listener.note(warning);
    checkpoints_->collect_evictions();
}

void StoredSession::resume()
{
    feeder_->restore();
    checkpoints_->collect_evictions();
}

// Chooses the CPU; a stored session keeps the product type that it was begun with.
void StoredSession::choose_cpu()
{
    SessionChoice& choice = context_.options.choice;
    choice.device = "cpu";
    if (context_.info.id != 0) choice.compute = SessionSettings(context_.info).compute;
}

// Nothing of the failed device is used or freed (give_back in kernels/cuda/device/cuda_error.h skips a failed
// device): the driver reclaims the memory when the process ends.
void StoredSession::move_to_cpu(LastDocument last)
{
    const std::string device = context_.model->backend().name();
    if (!lost_device_.empty())
        throw Error(ErrorKind::Resources, ErrorCode::GpuLost, Text("device '{0}'", device),
                    Text("it stopped responding"), Text("{0}; what was said and read is saved", Step::Restart));
    journal_.require_stored();
    lost_device_ = device;
    context_.listener.device_lost(device);
    context_.session.reset();
    choose_cpu();
    context_.model = load_model(context_.options.choice, context_.options.choice);
    if (context_.info.id == 0) return; // it was not begun yet
    {
        const ScopedValue may_recompute(context_.options.recompute, true);
        resume();
    }
    const uint64_t planned = context_.stream.tokens();
    if (context_.position() == 0 && planned > 0) {
        const std::string count = format_count(planned);
        const auto time = rate_.time_to_read(planned);
        context_.listener.note(
            time
                ? Text("its states can be used only by the graphics card: the {0} tokens of its text are read "
                       "again, about "
                       "{1}",
                       count, *time)
                : Text(
                      "its states can be used only by the graphics card: the {0} tokens of its text are read again",
                      count));
    }
    Feeding feeding = feeder_->usual();
    feeding.shows_progress = true;
    feeder_->catch_up(last, feeding);
}

bool StoredSession::complete_notes()
{
    if (!note_taking_->is_wanted()) return false;
    fallback_.run([&] {
        if (!note_taking_->complete(context_.listener.stop()))
            throw Interrupted{Text("stopped while writing notes; those written are saved, run it again to go on")};
    });
    return true;
}

std::vector<Note> StoredSession::notes()
{
    std::vector<Note> all;
    for (const int64_t document : documents_in(context_.stream))
        for (Note& note : Notes(context_.store.database).of(context_.info.id, document))
            all.push_back(std::move(note));
    return all;
}

void StoredSession::pin(const std::vector<std::string>& requests)
{
    pin_requests_->replace(requests, [&] { fallback_.run([&] { pin_requests_->look_for(parts(), true); }); });
    fallback_.run([&] { save(); });
}

void StoredSession::pin(const engine::TokenRange& range, const std::string& label)
{
    change_pins([&] { return context_.pins->with(range, label, context_.stream.tokens(), *context_.session); });
}

// Saves first: the tokens that were computed under the pin must not be computed again without it.
void StoredSession::unpin(const engine::TokenRange& range)
{
    const auto checkpoints = context_.store.snapshots.of(id());
    if (checkpoints.empty() || checkpoints.front().tokens_seen != context_.session->tokens_seen())
        fallback_.run([&] { save(); });
    change_pins([&] { return context_.pins->without(range); });
}

void StoredSession::change_pins(const std::function<SessionPins::Change()>& change)
{
    fallback_.run([&] {
        SessionPins::Change pins = change();
        context_.store.database.transaction([&] { context_.pins->store(pins); });
        context_.pins->take(std::move(pins), *context_.session);
    });
    fallback_.run([&] { save(); });
}

std::vector<engine::EvictionEvent> StoredSession::fade_record()
{
    std::vector<engine::EvictionEvent> all;
    read_fade_record([&](std::span<const engine::EvictionEvent> events) {
        all.insert(all.end(), events.begin(), events.end());
    });
    return all;
}

void StoredSession::choose_sampling()
{
    const SessionChoice& choice = context_.options.choice;
    engine::SamplerOptions wanted = SessionSettings(context_.info).sampling(choice.sampler);
    each_sampling_option(wanted, choice.sampler, [&](Setting setting, const char*, auto& value, const auto& now) {
        if (choice.given(setting)) value = now;
    });
    choose_sampling(wanted);
}

void StoredSession::choose_sampling(const engine::SamplerOptions& sampling)
{
    if (sampling == context_.session->options().sampler) return;
    context_.session->set_sampler(sampling);
    checkpoints_->sampling_changed();
}

void StoredSession::undo()
{
    turns_->undo();
    choose_sampling();
    fallback_.run([&] { save(); });
}

// Replaces all checkpoints: those of the old policy cannot be restored under the new one.
void StoredSession::change_policy(const SessionChoice& choice)
{
    fallback_.run([&] {
        engine::SessionOptions wanted = choice.session(context_.model->config());
        wanted.pins = context_.session->pins();
        wanted.sampler = context_.session->options().sampler;
        wanted.question_room = static_cast<int32_t>(framing_->question_ids().size());
        auto changed = engine::Session::adopt(context_.model, context_.session->state(), wanted);
        checkpoints_->replace_all(
            *changed, SessionSettings::json(*changed, {choice.policy_spec(), question(), framing_->options(),
                                                       context_.options.talks, context_.snapshot_form}));
        context_.session = std::move(changed);
    });
    checkpoints_->collect_evictions();
}

void StoredSession::set_system(const std::string& system)
{
    if (!is_new())
        throw Error(ErrorKind::Usage, ErrorCode::SettingsDiffer, context_.subject(),
                    Text("its system prompt is part of what the model has read"),
                    Text("begin another session with another one"));
    const engine::FramingOptions before = framing_->options();
    engine::FramingOptions framing = before;
    framing.system = system;
    const std::string settings =
        SessionSettings::json(session(), {context_.begun_with().policy_spec(), question(), framing,
                                          context_.options.talks, context_.snapshot_form});
    framing_->set_options(framing);
    try {
        context_.store.database.transaction([&] { context_.store.conversations.set_options(id(), settings); });
    } catch (...) {
        framing_->set_options(before);
        throw;
    }
    context_.info.options = settings;
}

const ModelReport& StoredSession::model_report()
{
    if (reported_model_ != context_.model.get()) model_report_ = ModelReport::of(*context_.model);
    reported_model_ = context_.model.get();
    return model_report_;
}

void StoredSession::rename(const std::string& name)
{
    context_.store.conversations.rename(id(), name);
    context_.info.name = name;
}

void fork_session(Store& store, const std::string& name, const std::string& to)
{
    store.database.transaction([&] {
        const int64_t from = store.conversations.get(name).id;
        const int64_t copy = store.conversations.fork(from, to);
        const auto checkpoints = store.snapshots.of(from);
        for (auto checkpoint = checkpoints.rbegin(); checkpoint != checkpoints.rend(); ++checkpoint)
            store.snapshots.share(checkpoint->id, copy);
    });
}

} // namespace palimpsest::storage
