#include "ui/engine/worker.h"

#include <QDateTime>
#include <QFileInfo>
#include <QLocale>
#include <QTextBoundaryFinder>
#include <algorithm>
#include <sstream>

#include "engine/text/chat_template.h"
#include "kernels/base/error.h"
#include "storage/session/answer_text.h"
#include "storage/session/device_loss.h"
#include "storage/session/model_choice.h"
#include "storage/session/reading.h"
#include "storage/session/scoped_value.h"
#include "storage/session/session_settings.h"
#include "storage/transfer.h"
#include "ui/engine/facts.h"
#include "ui/engine/failure.h"
#include "ui/engine/memory_left.h"
#include "ui/engine/provenance.h"
#include "ui/engine/tools.h"

namespace palimpsest::ui {
namespace {

using namespace std::chrono_literals;

constexpr auto frame_interval = 33ms; // views draw at most 30 frames a second
constexpr int answer_tokens = 1024;
constexpr double chat_temperature = 0.7;
// Copying the retained-token map takes at most 1/look_share of the time.
constexpr int look_share = 100;
constexpr qsizetype max_name_bytes = 200; // of a session name (storage/conversations.h)

QString text_of(const std::string& utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

engine::TokenRange token_range(const StreamRange& range)
{
    return {static_cast<uint32_t>(range.first), static_cast<uint32_t>(range.last)};
}

// The longest prefix of whole characters (graphemes) that fits in `max_bytes` of UTF-8.
QString shortened(const QString& text, qsizetype max_bytes)
{
    QTextBoundaryFinder characters(QTextBoundaryFinder::Grapheme, text);
    characters.toEnd();
    qsizetype length = text.size();
    while (length > 0 && text.left(length).toUtf8().size() > max_bytes)
        length = characters.toPreviousBoundary();
    return text.left(length);
}

ModelChoiceRequest on_cpu(ModelChoiceRequest wish)
{
    wish.device = QStringLiteral("cpu");
    return wish;
}

std::string default_compute()
{
    return storage::SessionChoice().compute;
}

// Tracing copies the cache: allow it only if that leaves enough memory on device and host.
bool may_trace(const engine::Session& session, uint64_t turn_tokens)
{
    const uint64_t needed = trace_bytes(session.model().config(), session.telemetry(), turn_tokens);
    return needed <= std::min(memory_left(session.model()), memory_of_machine());
}

std::optional<int64_t> message_id(const storage::StreamPart& part)
{
    const storage::StreamMessage* message = storage::message_in(part);
    return message ? message->id : std::nullopt;
}

std::vector<StreamRange> documents_in(const std::vector<storage::StreamPart>& stream)
{
    std::vector<StreamRange> documents;
    uint64_t begin = 0;
    for (const storage::StreamPart& part : stream) {
        const uint64_t end = begin + tokens_of(part);
        if (storage::document_in(part)) documents.push_back({begin, end});
        begin = end;
    }
    return documents;
}

Error why_text_only(const storage::SessionInfo& session, const Error& model)
{
    const QString what = EngineThread::tr("only its text is here, for its model %1 cannot be used: %2, %3")
                             .arg(text_of(session.model_name), text_of(model.subject()), text_of(model.text()));
    const QString remedy =
        EngineThread::tr("put the file of the model back and open the session again, or open its "
                         "document in a new session");
    return {ErrorKind::Failed, "PAL-SNAP-02", "“" + session.name + "”", what.toStdString(), remedy.toStdString()};
}

bool has_place_for_system(const engine::Model& model)
try {
    const engine::ChatTemplate probe(model.files().vocabulary, storage::require_tokenizer(model), {.system = "x"});
    return !probe.plain() && probe.warning().empty();
} catch (const Error&) {
    return false; // there is no tokenizer
}

} // namespace

EngineThread::Worker::Worker(EngineThread& owner, const QString& database)
    : owner_(owner), database_(database), frames_([this] { Q_EMIT owner_.frame_changed(); }),
      thread_([this] { run_command(); })
{
    sampling_.temperature = chat_temperature;
}

EngineThread::Worker::~Worker()
{
    queue_.cancel_all();
    queue_.close();
}

CommandId EngineThread::Worker::add(Activity activity, const QString& what, Work work)
{
    return queue_.push({.work = [this, activity, what, work = std::move(work)](std::stop_token stop) {
        stop_ = std::move(stop);
        frame_.activity = activity;
        frame_.what = what;
        frame_.share = frame_.seconds_left = std::nullopt;
        frame_.tokens_total = 0;
        frame_.tokens_per_second = 0;
        tell_frame(true);
        work(*this);
    }});
}

CommandId EngineThread::Worker::add_short(Work work, const QString& changes)
{
    return queue_.push(
        {.work =
             [this, work = std::move(work)](std::stop_token stop) {
                 if (!interleaving_) stop_ = std::move(stop);
                 work(*this);
             },
         .may_interleave = [this,
                            changes] { return changes.isEmpty() || (!is_open(changes) && opening_ != changes); },
         .runs_after_close = true});
}

CommandId EngineThread::Worker::ask(const QString& text, const NewSession& otherwise)
{
    const bool waits = !queue_.is_idle();
    const CommandId id = add(Activity::Answering, text, [text, otherwise](Worker& worker) {
        worker.need_session(otherwise);
        worker.answer(text);
    });
    if (waits) Q_EMIT owner_.question_queued(id, text);
    return id;
}

std::shared_ptr<const engine::Model> EngineThread::Worker::shared_model()
{
    const std::lock_guard lock(mutex_);
    return shared_model_;
}

bool EngineThread::Worker::has_place_for_system()
{
    const std::lock_guard lock(mutex_);
    return has_place_for_system_;
}

engine::SamplerOptions EngineThread::Worker::sampling()
{
    const std::lock_guard lock(mutex_);
    return sampling_;
}

void EngineThread::Worker::set_sampling(const engine::SamplerOptions& sampling, int max_tokens)
{
    const std::lock_guard lock(mutex_);
    sampling_ = sampling;
    max_tokens_ = max_tokens;
}

// ---- command loop

void EngineThread::Worker::run_command()
{
    while (auto running = queue_.next()) {
        run_command(std::move(*running));
        frame_.activity = Activity::Idle;
        frame_.what.clear();
        frame_.answer.clear();
        frame_.share = frame_.seconds_left = std::nullopt;
        rest();
        queue_.finish();
    }
    try {
        close_session();
    } catch (const std::exception& error) {
        Q_EMIT owner_.failed(running_, failure_of(error));
    }
}

// Publishes the state after a command, whether it succeeded or failed.
void EngineThread::Worker::rest()
{
    try {
        if (session_ && !session_->has_engine()) { // the engine was lost, but the session is stored
            if (!session_->lost_device().empty()) use(nullptr, on_cpu(model_wish_), compute_);
            session_.reset();
            tell_facts();
        }
        if (session_) look_at(session_->session(), true);
    } catch (const std::exception& error) {
        Q_EMIT owner_.failed(running_, failure_of(error));
    }
    tell_frame(true);
}

void EngineThread::Worker::run_command(CommandQueue::Running running)
{
    const storage::ScopedValue now(running_, running.id);
    try {
        running.command.work(running.stop);
        Q_EMIT owner_.finished(running.id, running.stop.stop_requested());
    } catch (const storage::Interrupted& interrupted) {
        Q_EMIT owner_.noted(text_of(interrupted.message));
        Q_EMIT owner_.finished(running.id, true);
    } catch (const std::exception& error) {
        Q_EMIT owner_.failed(running.id, failure_of(error));
        Q_EMIT owner_.finished(running.id, false);
    }
}

// Called between chunks or tokens: runs short commands that do not concern the open session.
void EngineThread::Worker::run_interleaved()
{
    if (interleaving_) return;
    interleaving_ = true;
    while (auto other = queue_.take_interleaved())
        run_command(std::move(*other));
    interleaving_ = false;
}

storage::Store& EngineThread::Worker::store()
{
    if (!store_) {
        store_ = storage::open_store(database_.toStdString(), storage::Database::Access::Write, stop_);
        for (const std::string& notice : std::exchange(store_->notices, {}))
            note(notice);
    }
    return *store_;
}

// The database that contains the open session.
storage::Store& EngineThread::Worker::place()
{
    return session_is_saved_ ? store() : *memory_;
}

storage::StoredSession& EngineThread::Worker::session()
{
    if (text_only_) throw Error(text_only_->why);
    if (!session_)
        throw Error(ErrorKind::Usage, "PAL-SESSION-01", "session", "none is open", "open a document or a session");
    return *session_;
}

// ---- listener and frames

void EngineThread::Worker::note(const std::string& sentence)
{
    Q_EMIT owner_.noted(text_of(sentence));
}

void EngineThread::Worker::device_lost(const std::string& device)
{
    Q_EMIT owner_.device_lost(text_of(device));
}

void EngineThread::Worker::progress(const storage::ReadingProgress& reading, const engine::Session& session)
{
    run_interleaved();
    frame_.what = text_of(reading.what);
    frame_.share = reading.share;
    frame_.seconds_left = reading.seconds_left;
    frame_.tokens_per_second = reading.tokens_per_second;
    frame_.tokens_total = reading.tokens_total;
    if (session_ && session_->parts().size() != parts_told_) { // a document was added and is being read
        tell_facts();
        Q_EMIT owner_.library_changed();
    }
    look_at(session, false);
    tell_frame(false);
}

void EngineThread::Worker::look_at(const engine::Session& session, bool at_once)
{
    frame_.telemetry = session.telemetry();
    const auto now = Clock::now();
    if (!at_once && now - looked_ < std::max<Clock::duration>(frame_interval, look_share * look_cost_)) return;
    frame_.kept = std::make_shared<const engine::RetentionMap>(session.retention());
    looked_ = Clock::now();
    look_cost_ = looked_ - now;
}

void EngineThread::Worker::tell_frame(bool at_once)
{
    const auto now = Clock::now();
    if (!at_once && now - told_ < frame_interval) return;
    told_ = now;
    frame_.waiting = queue_.waiting();
    frames_.put(frame_);
}

std::shared_ptr<const SessionFacts> EngineThread::Worker::tell_facts()
{
    use_model_of_session();
    std::shared_ptr<const SessionFacts> facts;
    parts_told_ = session_ ? session_->parts().size() : 0;
    if (session_) {
        look_at(session_->session(), true);
        SessionFacts told = facts_of(*session_, place(), session_is_saved_, provenances_);
        if (!session_is_saved_) told.id = -memory_number_;
        facts = std::make_shared<const SessionFacts>(std::move(told));
    } else {
        frame_.kept.reset();
        frame_.telemetry = {};
        if (text_only_)
            facts = std::make_shared<const SessionFacts>(
                stored_facts(text_only_->session, store(), window_sentence(text_only_->why)));
    }
    tell_frame(true); // first, so that listeners of session_changed do not read a frame of the previous session
    Q_EMIT owner_.session_changed(facts);
    return facts;
}

// ---- models

void EngineThread::Worker::load_model(const ModelChoiceRequest& wish)
{
    const std::string compute = compute_of_open();
    auto model = load(wish, compute);
    const bool fits = text_only_ ? text_only_->session.model == model->fingerprint()
                                 : session_ && session_->model().fingerprint() == model->fingerprint();
    if (session_ && !fits) close_session(); // not this model's tokens; throws before any change
    if (const auto scarce = storage::note_of_memory(*model, {})) note(*scarce);
    use(std::move(model), wish, compute);
    if (fits && session_is_saved_) open_session(text_of(text_only_ ? text_only_->session.name : session_->name()));
}

// The open session's product type; the default if none is open.
std::string EngineThread::Worker::compute_of_open() const
{
    if (text_only_) return storage::SessionSettings(text_only_->session).compute;
    return session_ ? compute_ : default_compute();
}

std::shared_ptr<const engine::Model> EngineThread::Worker::load(const ModelChoiceRequest& wish,
                                                                const std::string& compute)
{
    storage::SessionChoice choice;
    choice.model = wish.model.toStdString();
    choice.device = wish.device.toStdString();
    choice.threads = wish.threads;
    choice.compute = compute;
    const auto tell = [this](double share) {
        run_interleaved();
        frame_.share = share;
        tell_frame(false);
    };
    return storage::load_model(choice, 1, {.progress = tell, .stop = stop_});
}

void EngineThread::Worker::use(std::shared_ptr<const engine::Model> model, const ModelChoiceRequest& wish,
                               const std::string& compute)
{
    model_wish_ = wish;
    compute_ = compute;
    if (model == model_) return;
    model_ = std::move(model);
    const bool has_place = !model_ || ui::has_place_for_system(*model_);
    {
        const std::lock_guard lock(mutex_);
        shared_model_ = model_;
        has_place_for_system_ = has_place;
    }
    if (!model_) return Q_EMIT owner_.model_changed({}, {});
    Q_EMIT owner_.model_changed(text_of(storage::display_name(*model_)), text_of(model_->backend().name()));
}

void EngineThread::Worker::need_model()
{
    if (!model_) load_model(model_wish_);
}

// A CPU without VNNI computes exact products under either setting, so settings can be equivalent. On a GPU only the
// requested setting identifies the product type.
bool EngineThread::Worker::has_products(const std::string& compute) const
{
    if (!model_) return false;
    const kernels::Backend& backend = model_->backend();
    return compute_ == compute || (backend.exact_products() && compute == storage::compute_name(backend));
}

// REQUIRES: no session is open.
void EngineThread::Worker::use_model_for_new_session()
{
    if (has_products(default_compute())) return;
    auto model = load(model_wish_, default_compute());
    use(std::move(model), model_wish_, default_compute());
}

// A session stores its model's file and product type. Throws Error if the file is missing or contains another
// model.
void EngineThread::Worker::use_model_of(const storage::SessionInfo& info)
{
    const storage::SessionSettings settings(info);
    const bool is_loaded = model_ && model_->fingerprint() == info.model;
    if (is_loaded && has_products(settings.compute)) return;
    ModelChoiceRequest wish = model_wish_;
    wish.model = is_loaded ? text_of(model_->files().path.string()) : text_of(settings.model);
    auto model = load(wish, settings.compute);
    if (model->fingerprint() != info.model)
        throw Error(ErrorKind::Failed, "PAL-SNAP-02", printable(wish.model.toStdString()),
                    "it is another model now", "put back the one that was there");
    use(std::move(model), wish, settings.compute);
}

// After a device loss, the session has loaded its model on another device: use that model from now on.
void EngineThread::Worker::use_model_of_session()
{
    if (!session_ || !session_->has_engine() || session_->lost_device().empty()) return;
    if (model_ && model_->backend().name() != session_->lost_device()) return;
    use(session_->shared_model(), on_cpu(model_wish_), compute_);
}

// Work outside of the session lost the device: the session and later commands continue without it too.
void EngineThread::Worker::lose_device()
{
    if (session_ && session_->has_engine() && session_->lost_device().empty()) {
        session_->go_on_without_device();
        tell_facts();
    } else if (model_) {
        device_lost(model_->backend().name());
        use(nullptr, on_cpu(model_wish_), compute_);
    }
}

// ---- sessions

storage::StoredOptions EngineThread::Worker::stored_options(const NewSession& wish) const
{
    storage::StoredOptions options;
    options.choice.model = model_wish_.model.toStdString();
    options.choice.device = model_wish_.device.toStdString();
    options.choice.threads = model_wish_.threads;
    options.choice.compute = compute_;
    options.choice.policy = wish.policy.toStdString();
    options.choice.budget = wish.budget.toStdString();
    options.choice.chunk = wish.chunk;
    options.choice.system = wish.system.toStdString();
    options.talks = true;
    options.tells_catching_up = true;
    options.stays_empty = true;
    options.model = model_;
    return options;
}

storage::StoredOptions EngineThread::Worker::resume_options() const
{
    storage::StoredOptions options = stored_options({});
    options.choice.model.clear(); // so the session's own model is used
    options.reread = true;        // allowed, because it can be stopped
    return options;
}

void EngineThread::Worker::open(const std::string& name, const storage::StoredOptions& options, bool saved)
{
    const storage::ScopedValue opening(opening_, text_of(name));
    storage::Store& place = saved ? store() : *memory_;
    session_ = std::make_unique<storage::StoredSession>(place, name, options, *this);
    session_is_saved_ = saved;
}

// Stores pending turns and frees the cache, before another session is opened.
EngineThread::Worker::Left EngineThread::Worker::leave()
{
    if (session_ && session_is_saved_ && !session_->store_turns()) throw Error(*session_->why_waiting());
    Left left{.is_saved = session_is_saved_};
    if (is_any_open()) left.id = session_ ? session_->id() : text_only_->session.id;
    session_.reset();
    left.memory = std::move(memory_);
    left.memory_number = memory_number_;
    left.text_only = std::exchange(text_only_, std::nullopt);
    left.provenances = std::exchange(provenances_, {});
    session_is_saved_ = true;
    return left;
}

// The session may have been renamed or removed meanwhile, so it is looked up by id.
void EngineThread::Worker::return_to(Left before)
try {
    stop_ = queue_.renew_stop();
    memory_ = std::move(before.memory);
    memory_number_ = before.memory_number;
    storage::Store& place = before.is_saved ? store() : *memory_;
    for (const storage::SessionInfo& info : place.conversations.list()) {
        if (info.id != before.id || stop_.stop_requested()) continue; // stopped: everything was cancelled
        const storage::ScopedValue opening(
            opening_, text_of(info.name)); // so that no short command renames or removes it meanwhile
        if (before.text_only) {
            text_only_ = TextOnly{info, before.text_only->why};
        } else {
            use_model_of(info);
            open(info.name, resume_options(), before.is_saved);
        }
        provenances_ = std::move(before.provenances);
    }
    tell_facts();
} catch (const storage::Interrupted&) {
    tell_facts();
} catch (const std::exception& error) {
    Q_EMIT owner_.failed(running_, failure_of(error)); // in addition to the error that led here
    tell_facts();
}

// Reopens the previous session if `open_another` fails.
void EngineThread::Worker::in_its_place(const std::function<void()>& open_another)
{
    Left before = leave();
    try {
        open_another();
    } catch (...) {
        if (session_) throw;
        text_only_.reset();
        return_to(std::move(before));
        throw;
    }
}

void EngineThread::Worker::close_session()
{
    if (!is_any_open()) return;
    leave();
    tell_facts();
}

// Creates a session for what `read` reads, and discards it if nothing was read.
void EngineThread::Worker::begin(const QString& name, const NewSession& wish, const std::function<void()>& read)
{
    in_its_place([&] {
        use_model_for_new_session();
        if (!wish.saved) {
            memory_ = std::make_unique<storage::Store>();
            memory_number_ = ++last_memory_;
        }
        open(name.toStdString(), stored_options(wish), wish.saved);
        try {
            tell_facts();
            Q_EMIT owner_.library_changed();
            read();
        } catch (const storage::Interrupted&) {
            if (!session_->is_new()) throw;
            discard_session();
            throw storage::Interrupted{
                EngineThread::tr("Stopped. Nothing was read, and no session was begun.").toStdString()};
        } catch (...) {
            if (session_->is_new()) discard_session();
            throw;
        }
    });
}

void EngineThread::Worker::discard_session()
{
    const int64_t id = session_->id();
    session_.reset();
    try {
        place().conversations.discard(id);
    } catch (const Error&) {
        // Ignored: the original error is reported, and an empty session is harmless.
    }
    session_is_saved_ = true;
    Q_EMIT owner_.library_changed();
}

QString EngineThread::Worker::name_of(const NewSession& wish, const QString& file)
{
    QString name = wish.name;
    if (name.isEmpty() && !file.isEmpty()) name = QFileInfo(file).completeBaseName();
    if (name.isEmpty()) name = QLocale::c().toString(QDateTime::currentDateTime(), u"'chat' yyyy-MM-dd HH:mm");
    return wish.saved ? free_name(name) : shortened(name, max_name_bytes);
}

QString EngineThread::Worker::free_name(const QString& wanted)
{
    QString name = shortened(wanted, max_name_bytes);
    for (int number = 2; store().conversations.find(name.toStdString()); ++number) {
        const QString with_number =
            EngineThread::tr("%1, chat %2").arg(QStringLiteral("%1"), QString::number(number));
        name = with_number.arg(shortened(wanted, max_name_bytes - with_number.toUtf8().size()));
    }
    return name;
}

void EngineThread::Worker::begin_session(const NewSession& wish, const QStringList& files)
{
    need_model();
    begin(name_of(wish, files.value(0)), wish, [&] {
        if (!files.isEmpty()) read_files(files);
    });
}

void EngineThread::Worker::need_session(const NewSession& otherwise)
{
    if (!is_any_open()) begin_session(otherwise, {});
}

void EngineThread::Worker::open_session(const QString& name)
{
    const auto found = store().conversations.get(name.toStdString()); // throws if there is no such session
    in_its_place([&] {
        const storage::ScopedValue opening(opening_, name);
        try {
            use_model_of(found);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::Failed) throw;
            text_only_ = TextOnly{found, why_text_only(found, error)};
        }
        if (!text_only_) open(found.name, resume_options(), true);
        tell_facts();
    });
    if (session_ && session_->is_half_read()) read_on();
}

// ---- reading

void EngineThread::Worker::read_files(const QStringList& files)
{
    storage::StoredSession& open = session();
    QString what;
    for (qsizetype i = 0; i < files.size(); ++i) {
        std::istringstream nothing;
        storage::Document document(files[i].toStdString(), nothing, stop_);
        what = QFileInfo(files[i]).fileName();
        reads(what, [&] { open.read(document, i + 1 < files.size()); });
    }
    Q_EMIT owner_.reading_finished(what, true);
}

void EngineThread::Worker::reads(const QString& what, const std::function<void()>& read)
{
    frame_.activity = Activity::Reading;
    frame_.what = what;
    frame_.share = frame_.seconds_left = std::nullopt; // left over from loading a model
    try {
        read_with(read);
    } catch (const storage::Interrupted&) {
        if (session_ && session_->has_engine() && session_->is_half_read())
            Q_EMIT owner_.reading_finished(what, false);
        throw;
    }
}

// Publishes what was read, even if `read` throws.
void EngineThread::Worker::read_with(const std::function<void()>& read)
{
    const auto tell = [this] {
        if (session_ && session_->has_engine()) tell_facts();
        Q_EMIT owner_.library_changed();
    };
    try {
        read();
    } catch (...) {
        try {
            tell();
        } catch (const std::exception& error) {
            Q_EMIT owner_.failed(running_, failure_of(error)); // in addition to the error that ended the reading
        }
        throw;
    }
    tell();
}

void EngineThread::Worker::read_on()
{
    const QString name = text_of(session().name());
    reads(name, [&] { session().read_on(); });
    Q_EMIT owner_.reading_finished(name, true);
}

// The text stays in memory: nothing of an unsaved session may be written to disk.
void EngineThread::Worker::read_text(const QString& title, const QString& text, const NewSession& otherwise)
{
    const auto read = [&] {
        std::istringstream in(text.toStdString());
        storage::Document document = storage::Document::of_text(title.left(80).toStdString(), in, stop_);
        reads(title, [&] { session().read(document); });
        Q_EMIT owner_.reading_finished(title, true);
    };
    if (is_any_open()) return read();
    need_model();
    begin(name_of(otherwise, {}), otherwise, read);
}

// ---- talking

engine::GenerateOptions EngineThread::Worker::generate_options(storage::AnswerText& text)
{
    const std::lock_guard lock(mutex_);
    engine::GenerateOptions options;
    options.max_tokens = max_tokens_ > 0 ? max_tokens_ : answer_tokens;
    options.stop = stop_;
    options.is_end = [this](engine::TokenId id) { return session_->tokenizer().is_end(id); };
    options.token = [this, &text](engine::TokenId id) {
        const bool go_on = text.push(id);
        frame_.answer += text_of(text.fresh());
        run_interleaved();
        if (Clock::now() - told_ >= frame_interval) {
            look_at(session_->session(), false);
            tell_frame(false);
        }
        return go_on;
    };
    return options;
}

void EngineThread::Worker::answer(const QString& text)
{
    storage::StoredSession& open = session();
    turn(text, [&](const engine::GenerateOptions& options) { return open.say(text.toStdString(), options); });
}

void EngineThread::Worker::regenerate()
{
    storage::StoredSession& open = session();
    turn({}, [&](const engine::GenerateOptions& options) { return open.regenerate(sampling(), options); });
}

void EngineThread::Worker::turn(
    const QString& question, const std::function<engine::GenerateResult(const engine::GenerateOptions&)>& generate)
{
    frame_.activity = Activity::Answering;
    frame_.answer.clear();
    Q_EMIT owner_.question_begun(running_, question);
    before_turn_.reset();
    session().choose_sampling(sampling());
    storage::AnswerText text(session().tokenizer(), {});
    const auto newest = [&] {
        return session().parts().empty() ? std::optional<int64_t>() : message_id(session().parts().back());
    };
    const auto before = std::pair(session().parts().size(), newest());
    try {
        generate(generate_options(text));
    } catch (...) {
        if (session_->has_engine()) tell_facts(); // includes the partial answer
        throw;
    }
    text.finish();
    if (before == std::pair(session().parts().size(), newest())) { // stopped before the first token
        tell_facts();
    } else if (stop_.stop_requested()) { // show the answer now, and its sources once they are known
        tell_answer();
        stop_ = queue_.renew_stop();
        note_provenance();
        tell_facts();
    } else {
        note_provenance();
        tell_answer();
    }
}

void EngineThread::Worker::tell_answer()
{
    const auto facts = tell_facts();
    if (!facts->turns.empty() && facts->turns.back().role == storage::Role::Assistant)
        Q_EMIT owner_.answer_finished(running_, facts->turns.back());
}

// If memory is short, skips the session state: the answer then has no sources.
void EngineThread::Worker::message_starts(engine::Session& session)
{
    before_turn_.reset();
    if (!may_trace(session, 0)) return;
    try {
        before_turn_ = session.state();
    } catch (const std::bad_alloc&) {
    }
}

// Records the sources of the last answer if it is stored; a failure is only noted.
void EngineThread::Worker::note_provenance()
try {
    const auto before = std::exchange(before_turn_, std::nullopt);
    const std::vector<storage::StreamPart>& parts = session().parts();
    if (!before || parts.size() < 2 || !message_id(parts.back()) || stop_.stop_requested()) return;
    const auto question = place().conversations.message(message_id(parts[parts.size() - 2]).value_or(0));
    const auto answer = place().conversations.message(*message_id(parts.back()));
    if (!question || !answer || !may_trace(session().session(), question->ids.size() + answer->ids.size())) return;
    const storage::Coverage coverage = session().coverage();
    Provenance provenance{.tokens_in_input = coverage.tokens_in_input,
                          .tokens_read = coverage.tokens_read,
                          .budget = session().session().options().budget,
                          .sources = {}};
    provenance.sources = heaviest_passages(
        engine::attention_trace(session().shared_model(), *before, question->ids, answer->ids, stop_),
        documents_in(parts));
    for (Provenance::Source& source : provenance.sources)
        source.held = session().held(token_range(source.range));
    provenances_[answer->id] = std::move(provenance);
} catch (const std::exception& error) {
    note(error.what());
}

// The caller would create a second session, which must be saved.
void EngineThread::Worker::require_saved() const
{
    if (!session_is_saved_)
        throw Error(ErrorKind::Usage, "PAL-SESSION-09", "session",
                    "it is not saved, and a second one would have to be", "open its document in a new session");
}

void EngineThread::Worker::branch(int64_t message, const QString& text)
{
    require_saved();
    const QString name = free_name(text_of(session().name()));
    session().branch(name.toStdString(), message);
    Q_EMIT owner_.library_changed();
    open_session(name);
    answer(text);
}

void EngineThread::Worker::undo()
{
    read_with([&] { session().undo(); });
}

void EngineThread::Worker::set_system(const QString& system)
{
    session().set_system(system.toStdString());
    tell_facts();
}

void EngineThread::Worker::store_turns()
{
    session().store_turns();
    tell_facts();
}

void EngineThread::Worker::pin(StreamRange range, const QString& label)
{
    read_with([&] { session().pin(token_range(range), label.toStdString()); });
}

void EngineThread::Worker::unpin(StreamRange range)
{
    read_with([&] { session().unpin(token_range(range)); });
}

void EngineThread::Worker::change_policy(const NewSession& wish, bool from_the_start)
{
    if (!from_the_start) return read_with([&] { session().change_policy(stored_options(wish).choice); });
    require_saved();
    std::vector<int64_t> documents;
    for (const storage::StreamPart& part : session().parts())
        if (const auto* document = storage::document_in(part)) documents.push_back(document->id);
    const QString name = free_name(QStringLiteral("%1, %2").arg(text_of(session().name()), wish.policy));
    begin(name, wish, [&] { reads(name, [&] { session().read_stored(documents); }); });
}

// ---- the library

bool EngineThread::Worker::is_open(const QString& name) const
{
    if (text_only_) return text_of(text_only_->session.name) == name;
    return session_ && session_is_saved_ && text_of(session_->name()) == name;
}

void EngineThread::Worker::export_session(const QString& name, const QString& file)
{
    if (session_ && is_open(name) && !interleaving_) session_->save();
    storage::export_session(store().database, store().conversations.get(name.toStdString()).id, file.toStdString());
    Q_EMIT owner_.noted(EngineThread::tr("“%1” was exported to %2.").arg(name, file));
}

void EngineThread::Worker::import_session(const QString& file)
{
    const QString name = text_of(storage::import_session(store().database, file.toStdString(), {}));
    Q_EMIT owner_.library_changed();
    Q_EMIT owner_.noted(EngineThread::tr("“%1” is in the library now.").arg(name));
}

void EngineThread::Worker::rename_session(const QString& name, const QString& to)
{
    if (session_ && is_open(name))
        session_->rename(to.toStdString());
    else
        store().conversations.rename(store().conversations.get(name.toStdString()).id, to.toStdString());
    if (text_only_ && is_open(name)) text_only_->session.name = to.toStdString();
    Q_EMIT owner_.library_changed();
    if (is_open(to)) tell_facts();
}

void EngineThread::Worker::fork_session(const QString& name, const QString& to)
{
    if (session_ && is_open(name) && !interleaving_) session_->save();
    storage::fork_session(store(), name.toStdString(), to.toStdString());
    Q_EMIT owner_.library_changed();
}

void EngineThread::Worker::remove_session(const QString& name)
{
    const bool was_open = is_open(name);
    const auto backup_error = store().conversations.remove(store().conversations.get(name.toStdString()).id);
    if (was_open) { // including turns that could not be stored
        session_.reset();
        text_only_.reset();
        provenances_.clear();
        tell_facts();
    }
    if (backup_error) note(std::string("what is left has no backup now: ") + backup_error->what());
    Q_EMIT owner_.library_changed();
}

void EngineThread::Worker::run(const std::function<void(Tools&)>& work)
{
    need_model();
    if (!is_any_open()) use_model_for_new_session(); // the last session may have used another product type
    Tools tools{.model = model_,
                .store = session_ ? place() : store(),
                .session = session_.get(),
                .stop = stop_,
                .progress = [this](double share, std::optional<double> seconds_left) {
                    run_interleaved();
                    frame_.share = share;
                    frame_.seconds_left = seconds_left;
                    tell_frame(false);
                }};
    try {
        work(tools);
    } catch (const Error& error) {
        if (storage::is_device_loss(error)) lose_device();
        throw;
    }
}

} // namespace palimpsest::ui
