#include "ui/engine/worker.h"
#include "ui/engine/library_addition.h"

#include <QFileInfo>
#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "storage/passages/passage_places.h"
#include "storage/session/device_loss.h"
#include "storage/session/document.h"
#include "storage/session/document_indexing.h"
#include "storage/session/model_choice.h"
#include "storage/session/scoped_value.h"
#include "storage/stream_part.h"
#include "ui/base/line_text.h"
#include "ui/base/place_text.h"
#include "ui/base/utf8.h"
#include "ui/base/wording.h"
#include "ui/engine/session_name.h"
#include "ui/engine/tools.h"

namespace palimpsest::ui {
namespace {

constexpr int early_answer_tokens = 96; // reading waits for them

engine::TokenRange token_range(const StreamRange& range)
{
    return {static_cast<uint32_t>(range.first), static_cast<uint32_t>(range.last)};
}

// Returns the number of parts and the id of the last part's message. The pair changes when a turn adds or replaces
// a message.
std::pair<size_t, std::optional<int64_t>> end_of_stream(const storage::StoredSession& session)
{
    const std::vector<storage::StreamPart>& parts = session.parts();
    const storage::StreamMessage* newest = parts.empty() ? nullptr : storage::message_in(parts.back());
    return {parts.size(), newest ? newest->id : std::nullopt};
}

// How many stored answers the last question has.
uint64_t answers_to_last_question(const storage::StoredSession& session)
{
    const std::vector<storage::StreamPart>& parts = session.parts();
    const storage::StreamMessage* asked = parts.size() < 2 ? nullptr : storage::message_in(parts[parts.size() - 2]);
    if (!asked) return 0;
    const auto all = session.store().conversations.messages(session.id());
    return static_cast<uint64_t>(std::count_if(
        all.begin(), all.end(), [&](const storage::Message& one) { return one.parent == asked->id; }));
}

// Lets a session write notes for the lifetime of this object.
class WritesNotes {
public:
    explicit WritesNotes(storage::StoredSession& session) : session_(session), before_(session.note_mode())
    {
        session.set_notes(storage::NoteMode::Always);
    }
    ~WritesNotes() { session_.set_notes(before_); }
    WritesNotes(const WritesNotes&) = delete;
    WritesNotes& operator=(const WritesNotes&) = delete;

private:
    storage::StoredSession& session_;
    storage::NoteMode before_;
};

} // namespace

EngineThread::Worker::Worker(EngineThread& owner, const QString& database)
    : owner_(owner), loop_(owner), frames_(loop_.queue(), [this] { Q_EMIT owner_.frame_changed(); }),
      model_(loop_, frames_,
             [this](const QString& name, const QString& device) { Q_EMIT owner_.model_changed(name, device); }),
      database_(database, *this), open_(database_, model_, sampling_, *this), sources_(open_, *this),
      library_(owner, loop_, database_, open_, [this] { publish_facts(); }), thread_([this] { run_loop(); })
{
}

EngineThread::Worker::~Worker()
{
    queue().cancel_all();
    queue().close();
}

CommandId EngineThread::Worker::add(Activity activity, const QString& what, std::function<void(Worker&)> work,
                                    bool is_question)
{
    return loop_.add(
        [this, activity, what, work = std::move(work)] {
            frames_.begin_activity(activity, what);
            work(*this);
        },
        is_question);
}

CommandId EngineThread::Worker::add_library_command(std::function<void(LibraryCommands&)> work,
                                                    const QString& changes)
{
    return loop_.add_short([this, work = std::move(work)] { work(library_); },
                           [this, changes] { return changes.isEmpty() || !open_.is_open_or_opening(changes); });
}

CommandId EngineThread::Worker::ask(const QString& text, const NewSession& otherwise)
{
    const bool waits = !queue().is_idle();
    const CommandId id = add(
        Activity::Answering, text,
        [text, otherwise](Worker& worker) {
            worker.ensure_session(otherwise);
            worker.answer(text);
        },
        true);
    if (waits) {
        Q_EMIT owner_.question_queued(id, text);
        early_.add(id, text);
    }
    return id;
}

void EngineThread::Worker::run_loop()
{
    loop_.run([this] { publish_after_command(); });
    try {
        close_session();
    } catch (const std::exception& error) {
        loop_.report_failure(error);
    }
}

// ---- publishing

// Publishes the state after a command, whether it succeeded or failed.
void EngineThread::Worker::publish_after_command()
{
    frames_.end_activity();
    try {
        storage::StoredSession* session = open_.session();
        if (session && !session->has_engine()) { // a device loss ended the engine, but the session is stored
            if (!session->lost_device().empty()) model_.unload_lost_device();
            open_.close();
            publish_facts();
        }
        if (open_.session()) frames_.update_retention(open_.session()->session());
    } catch (const std::exception& error) {
        loop_.report_failure(error);
    }
    frames_.publish_frame();
}

std::shared_ptr<const SessionFacts> EngineThread::Worker::publish_facts()
{
    storage::StoredSession* session = open_.session();
    if (session) model_.follow_device_loss(*session);
    parts_published_ = session ? session->parts().size() : 0;
    if (session)
        frames_.update_retention(session->session());
    else
        frames_.clear_retention();
    std::shared_ptr<const SessionFacts> facts = open_.facts();
    frames_.publish_frame(); // first: listeners of session_changed must not read a frame of the previous session
    Q_EMIT owner_.session_changed(facts);
    return facts;
}

void EngineThread::Worker::publish_answer()
{
    const auto facts = publish_facts();
    if (!facts->turns.empty() && facts->turns.back().role == storage::Role::Assistant)
        Q_EMIT owner_.answer_finished(loop_.running(), facts->turns.back());
}

// ---- listener

void EngineThread::Worker::note(const Text& sentence)
{
    Q_EMIT owner_.noted(shown(sentence));
}

void EngineThread::Worker::device_lost(const std::string& device)
{
    Q_EMIT owner_.device_lost(QString::fromStdString(device));
}

void EngineThread::Worker::progress(const storage::ReadingProgress& reading, const engine::Session& session)
{
    loop_.run_interleaved();
    frames_.set_progress(reading);
    publish_new_parts();
    frames_.update_retention_if_due(session);
    frames_.publish_frame_if_due();
    answer_early(reading);
}

// Answers a question that waits, from what was read so far. An error leaves it to wait; a device that fails here
// has failed for the reading, too.
void EngineThread::Worker::answer_early(const storage::ReadingProgress& reading)
{
    storage::StoredSession* stored = open_.session();
    if (!stored || !stored->has_engine() || !stored->is_half_read()) return;
    const auto question = early_.next(reading.telemetry.tokens_seen,
                                      [this](CommandId id) { return queue().waits_behind_questions(id); });
    if (!question) return;
    const auto give_up = [&](const Text& why) {
        early_.forget(question->id);
        note(why);
    };
    try {
        answer_early(*stored, *question);
    } catch (const Error& error) {
        if (storage::is_device_loss(error)) throw;
        give_up(sentence_of(error));
    } catch (const std::exception& error) {
        give_up(Text::verbatim(error.what()));
    }
}

void EngineThread::Worker::answer_early(storage::StoredSession& session, const EarlyQuestions::Question& question)
{
    session.set_rereading(sampling_.rereading());
    engine::GenerateOptions options;
    options.max_tokens = early_answer_tokens;
    options.stop = stop();
    options.token = [&](engine::TokenId) {
        loop_.run_interleaved();
        frames_.publish_frame_if_due();
        return queue().waits_behind_questions(question.id);
    };
    const auto answer = session.answer_early(question.text.toStdString(), options);
    if (!answer) return;
    EarlyReply reply{.text = text_of(answer->text), .quote = {}, .place = {}, .share = answer->share};
    if (const auto& quote = answer->support.quote) {
        reply.quote = text_of(quote->text);
        storage::PassagePlaces places(open_.store().library);
        reply.place = place_text(text_of(places.name(quote->place, false)), places.pages(quote->place));
    }
    Q_EMIT owner_.question_answered_early(question.id, reply);
}

// Called while a document is read.
void EngineThread::Worker::publish_new_parts()
{
    if (!open_.session() || open_.session()->parts().size() == parts_published_) return;
    publish_facts();
    Q_EMIT owner_.library_changed();
}

void EngineThread::Worker::noted(const storage::Note& note, storage::Store& /*store*/)
{
    loop_.run_interleaved();
    publish_new_parts();
    Q_EMIT owner_.note_written(note);
    if (!note_progress_) return;
    note_progress_->add_note();
    frames_.set_notes(note_progress_->notes(), note_progress_->wanted());
    frames_.set_seconds_left(note_progress_->seconds_left());
    frames_.publish_frame();
}

// ---- the model

void EngineThread::Worker::load_model(const ModelChoiceRequest& request)
{
    const std::string compute = open_.compute();
    auto model = model_.load(request, compute);
    const bool fits = open_.is_made_with(*model);
    if (open_.session() && !fits) close_session(); // its tokens are another model's; may throw, before any change
    if (const auto scarce = storage::note_of_memory(*model, {})) note(*scarce);
    model_.use(std::move(model), request, compute);
    if (fits && open_.is_saved()) open_session(open_.name());
}

void EngineThread::Worker::ensure_model()
{
    if (!model_.model()) load_model(model_.request());
}

// Called when a command of run() has lost the device: the session and later commands continue on the CPU.
void EngineThread::Worker::handle_device_loss()
{
    storage::StoredSession* session = open_.session();
    if (session && session->has_engine() && session->lost_device().empty()) {
        session->go_on_without_device();
        publish_facts();
    } else if (model_.model()) {
        device_lost(model_.model()->backend().name());
        model_.unload_lost_device();
    }
}

// ---- opening and closing

void EngineThread::Worker::begin_session_about(const std::vector<int64_t>& documents, const NewSession& request)
{
    ensure_model();
    const QString title = QString::fromStdString(database_.store().library.get(documents.front()).title);
    const QString name = request.name.isEmpty() ? free_session_name(title, database_) : request.name;
    begin_and_read(name, request,
                   [&] { run_reading(title, [&] { open_.require_session().read_stored(documents); }); });
}

void EngineThread::Worker::begin_session(const NewSession& request, const QStringList& files)
{
    ensure_model();
    begin_and_read(name_of_new_session(request, files.value(0), database_), request, [&] {
        if (!files.isEmpty()) read_files(files);
    });
}

void EngineThread::Worker::ensure_session(const NewSession& otherwise)
{
    if (!open_.is_any_open()) begin_session(otherwise, {});
}

void EngineThread::Worker::open_session(const QString& name)
{
    const auto found = database_.store().conversations.get(name.toStdString()); // throws if there is none
    replace_session([&] {
        open_.open(found);
        publish_facts();
    });
    if (open_.session() && open_.session()->is_half_read()) read_on();
}

void EngineThread::Worker::open_export(const QString& file)
{
    open_session(library_.import_session(file));
}

void EngineThread::Worker::close_session()
{
    if (!open_.is_any_open()) return;
    open_.detach();
    publish_facts();
}

// Begins a session and calls `read` to read into it; discards the session if `read` throws before it has read
// anything.
void EngineThread::Worker::begin_and_read(const QString& name, const NewSession& request,
                                          const std::function<void()>& read)
{
    replace_session([&] {
        open_.begin(name, request);
        try {
            publish_facts();
            Q_EMIT owner_.library_changed();
            read();
        } catch (const storage::Interrupted&) {
            if (!open_.session()->is_new()) throw;
            discard_session();
            throw storage::Interrupted{Text("Stopped. Nothing was read, and no session was begun.")};
        } catch (...) {
            if (open_.session()->is_new()) discard_session();
            throw;
        }
    });
}

void EngineThread::Worker::discard_session()
{
    open_.discard();
    Q_EMIT owner_.library_changed();
}

// Reopens the previous session if `open_another` fails.
void EngineThread::Worker::replace_session(const std::function<void()>& open_another)
{
    DetachedSession previous = open_.detach();
    sources_.forget_found();
    try {
        open_another();
    } catch (...) {
        if (!open_.session()) reopen_session(std::move(previous));
        throw;
    }
}

void EngineThread::Worker::reopen_session(DetachedSession previous)
try {
    loop_.renew_stop();
    open_.reopen(std::move(previous));
    publish_facts();
} catch (const storage::Interrupted&) {
    publish_facts();
} catch (const std::exception& error) {
    loop_.report_failure(error); // in addition to the error that replace_session throws
    publish_facts();
}

// Throws Error if the open session is unsaved. Commands call it that would create a second session, which is saved.
void EngineThread::Worker::require_saved() const
{
    if (!open_.is_saved())
        throw Error(ErrorKind::Usage, ErrorCode::UnsavedSession, Text("session"),
                    Text("it is not saved, and a second one would have to be"),
                    Text("open its document in a new session"));
}

// ---- reading

void EngineThread::Worker::read_files(const QStringList& files)
{
    storage::StoredSession& session = open_.require_session();
    QString what;
    for (qsizetype i = 0; i < files.size(); ++i) {
        std::istringstream nothing;
        storage::Document document(files[i].toStdString(), nothing, stop());
        what = QFileInfo(files[i]).fileName();
        run_reading(what, [&] { session.read(document, i + 1 < files.size()); });
    }
    Q_EMIT owner_.reading_finished(what, true);
}

void EngineThread::Worker::read_on()
{
    const QString name = QString::fromStdString(open_.require_session().name());
    run_reading(name, [&] { open_.require_session().read_on(); });
    Q_EMIT owner_.reading_finished(name, true);
}

// Reads from memory, not from a temporary file: nothing of an unsaved session may be written to disk.
void EngineThread::Worker::read_text(const QString& title, const QString& text, const NewSession& otherwise)
{
    const auto read = [&] {
        std::istringstream in(text.toStdString());
        storage::Document document =
            storage::Document::of_text(leading_characters(title, 80).toStdString(), in, stop());
        run_reading(title, [&] { open_.require_session().read(document); });
        Q_EMIT owner_.reading_finished(title, true);
    };
    if (open_.is_any_open()) return read();
    ensure_model();
    begin_and_read(name_of_new_session(otherwise, {}, database_), otherwise, read);
}

void EngineThread::Worker::run_reading(const QString& what, const std::function<void()>& read)
{
    frames_.begin_reading(what);
    open_.require_session().set_notes(sampling_.note_mode()); // the setting may have changed since it was opened
    try {
        change_and_publish(read);
    } catch (const storage::Interrupted&) {
        const storage::StoredSession* session = open_.session();
        if (session && session->has_engine() && session->is_half_read())
            Q_EMIT owner_.reading_finished(what, false);
        throw;
    }
}

// Calls `change`, and publishes the changes even if it throws.
void EngineThread::Worker::change_and_publish(const std::function<void()>& change)
{
    const auto publish = [this] {
        if (open_.session() && open_.session()->has_engine()) publish_facts();
        Q_EMIT owner_.library_changed();
    };
    try {
        change();
    } catch (...) {
        try {
            publish();
        } catch (const std::exception& error) {
            loop_.report_failure(error); // in addition to the error that ended the change
        }
        throw;
    }
    publish();
}

// ---- answering

void EngineThread::Worker::answer(const QString& text)
{
    storage::StoredSession& session = open_.require_session();
    sources_.forget_found();
    run_turn(text,
             [&](const engine::GenerateOptions& options) { return session.say(text.toStdString(), options); });
}

void EngineThread::Worker::regenerate()
{
    storage::StoredSession& session = open_.require_session();
    engine::SamplerOptions sampling = sampling_.sampling();
    sources_.forget_unsaid();
    sampling.seed += answers_to_last_question(session); // the same seed would give the same words
    run_turn({}, [&](const engine::GenerateOptions& options) { return session.regenerate(sampling, options); });
}

void EngineThread::Worker::run_turn(const QString& question, const Generate& generate)
{
    frames_.begin_answer();
    Q_EMIT owner_.question_begun(loop_.running(), question);
    sources_.begin_turn();
    storage::StoredSession& session = open_.require_session();
    session.choose_sampling(sampling_.sampling());
    session.set_rereading(sampling_.rereading());
    storage::AnswerText text(session.tokenizer(), {});
    const auto before = end_of_stream(session);
    try {
        generate(generate_options(session, text));
    } catch (...) {
        if (session.has_engine()) publish_facts(); // includes the partial answer
        throw;
    }
    text.finish();
    if (before == end_of_stream(session)) { // stopped before the first token
        publish_facts();
    } else if (stop().stop_requested()) { // show the answer now, and its sources once they are known
        publish_answer();
        loop_.renew_stop();
        sources_.note_provenance();
        publish_facts();
    } else {
        sources_.note_provenance();
        publish_answer();
    }
}

engine::GenerateOptions EngineThread::Worker::generate_options(storage::StoredSession& session,
                                                               storage::AnswerText& text)
{
    engine::GenerateOptions options;
    options.max_tokens = sampling_.max_tokens();
    options.stop = stop();
    options.is_end = [&session](engine::TokenId id) { return session.tokenizer().is_end(id); };
    options.token = [this, &session, &text](engine::TokenId id) {
        const bool go_on = text.push(id);
        frames_.append_answer(QString::fromStdString(text.fresh()));
        loop_.run_interleaved();
        if (frames_.is_due()) {
            frames_.update_retention_if_due(session.session());
            frames_.publish_frame();
        }
        return go_on;
    };
    return options;
}

// ---- changing the open session

void EngineThread::Worker::branch(int64_t message, const QString& text)
{
    require_saved();
    const QString name = free_session_name(QString::fromStdString(open_.require_session().name()), database_);
    open_.require_session().branch(name.toStdString(), message);
    Q_EMIT owner_.library_changed();
    open_session(name);
    answer(text);
}

void EngineThread::Worker::undo()
{
    change_and_publish([&] { open_.require_session().undo(); });
}

void EngineThread::Worker::set_system(const QString& system)
{
    open_.require_session().set_system(system.toStdString());
    publish_facts();
}

void EngineThread::Worker::write_notes()
{
    storage::StoredSession& session = open_.require_session();
    if (!storage::index_documents(open_.store(), storage::documents_in(session.stream()), *this, stop()))
        throw storage::Interrupted{Text("Stopped. The notes that were written are kept.")};
    const storage::ScopedValue progress(note_progress_,
                                        std::optional(NoteProgress::of(session, open_.store(), open_.known())));
    frames_.set_notes(note_progress_->notes(), note_progress_->wanted());
    frames_.publish_frame();
    const WritesNotes writes(session);
    try {
        change_and_publish([&] { session.complete_notes(); });
    } catch (const storage::Interrupted&) {
        throw storage::Interrupted{Text("Stopped. The notes that were written are kept.")};
    }
}

void EngineThread::Worker::store_turns()
{
    open_.require_session().store_turns();
    publish_facts();
}

void EngineThread::Worker::pin(StreamRange range, const QString& label)
{
    change_and_publish([&] { open_.require_session().pin(token_range(range), label.toStdString()); });
}

void EngineThread::Worker::unpin(StreamRange range)
{
    change_and_publish([&] { open_.require_session().unpin(token_range(range)); });
}

// From the start: as a new session, which keeps the system prompt and the form of checkpoints of the open one.
void EngineThread::Worker::change_policy(const NewSession& request, bool from_the_start)
{
    if (!from_the_start)
        return change_and_publish(
            [&] { open_.require_session().change_policy(open_.options_for(request).choice); });
    require_saved();
    std::vector<int64_t> documents;
    for (const storage::StreamPart& part : open_.require_session().parts())
        if (const auto* document = storage::document_in(part)) documents.push_back(document->id);
    const QString wanted =
        QStringLiteral("%1, %2").arg(QString::fromStdString(open_.require_session().name()), request.policy);
    const QString name = free_session_name(wanted, database_);
    NewSession again = request;
    again.system = QString::fromStdString(open_.require_session().system());
    again.snapshot = QString::fromStdString(std::string(storage::name_of(open_.require_session().snapshot_form())));
    begin_and_read(name, again,
                   [&] { run_reading(name, [&] { open_.require_session().read_stored(documents); }); });
}

// ---- other work

void EngineThread::Worker::add_to_library(const QStringList& paths)
{
    ensure_model();
    const auto show = [this](double share, bool is_new) {
        loop_.run_interleaved();
        frames_.set_share(share);
        frames_.publish_frame_if_due();
        if (is_new) Q_EMIT owner_.library_changed();
    };
    Q_EMIT owner_.noted(ui::add_to_library(database_.store(), model_.model(), *this, paths, show));
}

void EngineThread::Worker::index_documents()
{
    storage::Store& store = database_.store();
    std::vector<int64_t> documents;
    for (const storage::DocumentInfo& info : store.library.list())
        documents.push_back(info.id);
    storage::index_documents(store, documents, *this, stop());
    if (open_.session()) publish_facts(); // its sections are known now
    Q_EMIT owner_.library_changed();
}

void EngineThread::Worker::run(const std::function<void(Tools&)>& work)
{
    ensure_model();
    if (!open_.is_any_open()) model_.use_for_new_session(); // the last session may have used another product type
    Tools tools{.model = model_.model(),
                .store = open_.session() ? open_.store() : database_.store(),
                .session = open_.session(),
                .stop = stop(),
                .listener = *this,
                .progress = [this](double share, std::optional<double> seconds_left) {
                    loop_.run_interleaved();
                    frames_.set_share(share);
                    frames_.set_seconds_left(seconds_left);
                    frames_.publish_frame_if_due();
                }};
    try {
        work(tools);
    } catch (const Error& error) {
        if (storage::is_device_loss(error)) handle_device_loss();
        throw;
    }
}

} // namespace palimpsest::ui
