#include "ui/engine/worker.h"

#include <QDateTime>
#include <QFileInfo>
#include <QLocale>
#include <QTemporaryDir>
#include <sstream>

#include "kernels/base/error.h"
#include "storage/session/answer_text.h"
#include "storage/session/model_choice.h"
#include "storage/session/session_settings.h"
#include "storage/transfer.h"
#include "ui/engine/facts.h"
#include "ui/engine/provenance.h"
#include "ui/engine/tools.h"

namespace palimpsest::ui {
namespace {

using namespace std::chrono_literals;

constexpr auto frame_interval = 33ms; // views show 30 a second at most
constexpr int answer_tokens = 1024;
constexpr double chat_temperature = 0.7;
// Looking at what is kept may take this part of the time, at most.
constexpr int look_share = 100;

QString text_of(const std::string& utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

engine::TokenRange token_range(const StreamRange& range)
{
    return {static_cast<uint32_t>(range.first), static_cast<uint32_t>(range.last)};
}

Failure failure_of(const std::exception& error)
{
    if (const auto* known = dynamic_cast<const Error*>(&error))
        return {text_of(known->code()), text_of(known->what()), known->code().starts_with("PAL-MODEL")};
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return {QStringLiteral("PAL-MEM-01"), EngineThread::tr("There is not enough memory for this; choose a "
                                                               "smaller budget or a smaller model.")};
    return {QStringLiteral("PAL-INTERNAL"), text_of(error.what())};
}

} // namespace

EngineThread::Worker::Worker(EngineThread& owner, const QString& database)
    : owner_(owner), database_(database), frames_([this] { Q_EMIT owner_.frame_changed(); }),
      thread_([this] { obey(); })
{
    sampling_.temperature = chat_temperature;
}

EngineThread::Worker::~Worker()
{
    queue_.cancel_all();
    queue_.close();
}

CommandId EngineThread::Worker::add(Activity activity, const QString& what, Work work, bool at_the_end_too)
{
    return queue_.push({.work =
                            [this, activity, what, work = std::move(work)](std::stop_token stop) {
                                stop_ = std::move(stop);
                                frame_.activity = activity;
                                frame_.what = what;
                                frame_.share = frame_.seconds_left = std::nullopt;
                                frame_.tokens_total = 0;
                                frame_.tokens_per_second = 0;
                                tell_frame(true);
                                work(*this);
                            },
                        .at_the_end_too = at_the_end_too});
}

CommandId EngineThread::Worker::add_short(Work work)
{
    return queue_.push({.work =
                            [this, work = std::move(work)](std::stop_token stop) {
                                if (!cuts_in_) stop_ = std::move(stop);
                                work(*this);
                            },
                        .may_cut_in = true,
                        .at_the_end_too = true});
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

// ---- the thread

void EngineThread::Worker::obey()
{
    while (auto running = queue_.next()) {
        running_ = running->id;
        obey(std::move(*running));
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

// What is there after a command, whatever became of it.
void EngineThread::Worker::rest()
{
    try {
        if (session_ && !session_->has_engine()) { // it was lost on the way; what is stored is
            session_.reset();
            tell_facts();
        }
        if (session_) look_at(session_->session(), true);
    } catch (const std::exception& error) {
        Q_EMIT owner_.failed(running_, failure_of(error));
    }
    tell_frame(true);
}

void EngineThread::Worker::obey(CommandQueue::Running running)
{
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

// Where the thread is between chunks or tokens: what is short and concerns nothing open need not wait for the end.
void EngineThread::Worker::let_others_cut_in()
{
    if (cuts_in_) return;
    cuts_in_ = true;
    while (auto other = queue_.take_one_that_cuts_in())
        obey(std::move(*other));
    cuts_in_ = false;
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

// Where the open session is stored.
storage::Store& EngineThread::Worker::place()
{
    return session_is_saved_ ? store() : *memory_;
}

storage::StoredSession& EngineThread::Worker::session()
{
    if (!session_)
        throw Error(ErrorKind::Usage, "PAL-SESSION-01", "session", "none is open", "open a document or a session");
    return *session_;
}

// ---- what computes tells

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
    let_others_cut_in();
    frame_.what = text_of(reading.what);
    frame_.share = reading.share;
    frame_.seconds_left = reading.seconds_left;
    frame_.tokens_per_second = reading.tokens_per_second;
    frame_.tokens_total = reading.tokens_total;
    if (session_ && session_->parts().size() != parts_told_) { // a document was taken in, and is read now
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
    std::shared_ptr<const SessionFacts> facts;
    parts_told_ = session_ ? session_->parts().size() : 0;
    if (session_) {
        look_at(session_->session(), true);
        facts = std::make_shared<const SessionFacts>(facts_of(*session_, place(), session_is_saved_, provenances_));
    } else {
        frame_.kept.reset();
        frame_.telemetry = {};
    }
    Q_EMIT owner_.session_changed(facts);
    return facts;
}

// ---- models and sessions

void EngineThread::Worker::load_model(const ModelChoiceWish& wish)
{
    const QString open = session_ && session_is_saved_ ? text_of(session_->name()) : QString();
    storage::SessionChoice choice;
    choice.model = wish.model.toStdString();
    choice.device = wish.device.toStdString();
    choice.threads = wish.threads;
    const auto tell = [this](double share) {
        let_others_cut_in();
        frame_.share = share;
        tell_frame(false);
    };
    auto model = storage::load_model(choice, 1, {.progress = tell, .stop = stop_});
    model_ = std::move(model);
    model_wish_ = wish;
    {
        const std::lock_guard lock(mutex_);
        shared_model_ = model_;
    }
    Q_EMIT owner_.model_changed(text_of(storage::model_name(storage::find_model(choice.model))),
                                text_of(model_->backend().name()));
    if (!session_) return;
    if (session_->model().fingerprint() != model_->fingerprint())
        return close_session(); // its tokens are another's
    if (!open.isEmpty()) open_session(open);
}

void EngineThread::Worker::need_model()
{
    if (!model_) load_model(model_wish_);
}

storage::StoredOptions EngineThread::Worker::stored_options(const NewSession& wish) const
{
    storage::StoredOptions options;
    options.choice.model = model_wish_.model.toStdString();
    options.choice.device = model_wish_.device.toStdString();
    options.choice.threads = model_wish_.threads;
    options.choice.policy = wish.policy.toStdString();
    options.choice.budget = wish.budget.toStdString();
    options.choice.chunk = wish.chunk;
    options.talks = true;
    options.tells_catching_up = true;
    options.model = model_;
    return options;
}

void EngineThread::Worker::open(const std::string& name, const storage::StoredOptions& options, bool saved)
{
    if (!saved) memory_ = std::make_unique<storage::Store>();
    storage::Store& place = saved ? store() : *memory_;
    auto opened = std::make_unique<storage::StoredSession>(place, name, options, *this);
    session_ = std::move(opened);
    session_is_saved_ = saved;
    provenances_.clear();
}

// The session before goes first: what it has not stored is stored, and its cache is not there twice.
void EngineThread::Worker::close_session()
{
    if (!session_) return;
    if (session_is_saved_ && !session_->store_turns()) throw *session_->why_waiting();
    session_.reset();
    memory_.reset();
    provenances_.clear();
    tell_facts();
}

QString EngineThread::Worker::free_name(const QString& wanted)
{
    QString name = wanted;
    for (int number = 2; store().conversations.find(name.toStdString()); ++number)
        name = EngineThread::tr("%1, chat %2").arg(wanted, QString::number(number));
    return name;
}

void EngineThread::Worker::begin_session(const NewSession& wish, const QStringList& files)
{
    need_model();
    QString name = wish.name;
    if (name.isEmpty() && !files.isEmpty()) name = QFileInfo(files.front()).completeBaseName();
    if (name.isEmpty()) name = QLocale::c().toString(QDateTime::currentDateTime(), u"'chat' yyyy-MM-dd HH:mm");
    if (wish.saved) name = free_name(name);
    close_session();
    open(name.toStdString(), stored_options(wish), wish.saved);
    tell_facts();
    Q_EMIT owner_.library_changed();
    if (!files.isEmpty()) read_files(files);
}

void EngineThread::Worker::need_session(const NewSession& otherwise)
{
    if (!session_) begin_session(otherwise, {});
}

void EngineThread::Worker::open_session(const QString& name)
{
    const auto found = store().conversations.get(name.toStdString()); // throws
    need_model_of(found);
    close_session();
    storage::StoredOptions options = stored_options({});
    options.choice.model.clear(); // its own
    options.reread = true;        // it can be stopped
    open(found.name, options, true);
    tell_facts();
    if (session().is_half_read()) read_on();
}

// Sessions remember the file of their model.
void EngineThread::Worker::need_model_of(const storage::SessionInfo& info)
{
    if (model_ && model_->fingerprint() == info.model) return;
    ModelChoiceWish wish = model_wish_;
    wish.model = text_of(storage::SessionSettings(info).model);
    load_model(wish);
}

// ---- reading

void EngineThread::Worker::read_files(const QStringList& files)
{
    storage::StoredSession& open = session();
    frame_.activity = Activity::Reading;
    for (qsizetype i = 0; i < files.size(); ++i) {
        std::istringstream nothing;
        const std::string name = files[i].toStdString();
        frame_.what = QFileInfo(files[i]).fileName();
        storage::Document document(name, nothing, stop_);
        read_with([&] { open.read(document, i + 1 < files.size()); });
    }
    Q_EMIT owner_.reading_finished(frame_.what, true);
}

// Whatever ends it, what was taken in is shown.
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
            Q_EMIT owner_.failed(running_, failure_of(error)); // beside what ended the reading
        }
        throw;
    }
    tell();
}

void EngineThread::Worker::read_on()
{
    frame_.activity = Activity::Reading;
    read_with([&] { session().read_on(); });
    Q_EMIT owner_.reading_finished(text_of(session().name()), true);
}

// What was pasted becomes a file for as long as it is read: a document is read block by block.
void EngineThread::Worker::read_text(const QString& title, const QString& text)
{
    const QTemporaryDir folder;
    QString name = title;
    name.replace(u'/', u'-');
    QFile file(folder.filePath(name.left(80) + QStringLiteral(".txt")));
    const QByteArray bytes = text.toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.flush())
        throw Error(ErrorKind::Resources, "PAL-DISK-01", file.fileName().toStdString(),
                    "the text could not be put there", "free some space and try again");
    read_files({file.fileName()});
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
        let_others_cut_in();
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
    generate(generate_options(text));
    text.finish();
    note_provenance();
    const auto facts = tell_facts();
    if (!facts->turns.empty() && facts->turns.back().role == storage::Role::Assistant)
        Q_EMIT owner_.answer_finished(running_, facts->turns.back());
    if (session().why_waiting()) note(session().why_waiting()->what());
}

void EngineThread::Worker::turn_begins(engine::Session& session)
{
    try {
        before_turn_ = session.state();
    } catch (const std::bad_alloc&) {
        before_turn_.reset(); // an answer without its sources is an answer
    }
}

// Of the answer that was just given; an answer without it is an answer.
void EngineThread::Worker::note_provenance()
try {
    const auto before = std::exchange(before_turn_, std::nullopt);
    if (!before) return;
    const SessionFacts facts = facts_of(session(), place(), session_is_saved_, provenances_);
    if (facts.turns.size() < 2) return;
    const int64_t answer = facts.turns.back().message;
    const auto question = place().conversations.message(facts.turns[facts.turns.size() - 2].message);
    const auto reply = place().conversations.message(answer);
    if (!question || !reply) return;
    Provenance provenance{.tokens_in_input = facts.tokens_in_input,
                          .tokens_read = facts.tokens_read,
                          .budget = facts.options.budget,
                          .sources = {}};
    std::vector<StreamRange> documents;
    for (const DocumentPart& document : facts.documents)
        documents.push_back(document.range);
    provenance.sources =
        heaviest_passages(engine::attention_trace(model_, *before, question->ids, reply->ids, stop_), documents);
    for (Provenance::Source& source : provenance.sources)
        source.held = session().held(token_range(source.range));
    provenances_[answer] = std::move(provenance);
} catch (const std::exception& error) {
    note(error.what());
}

// A second session would have to be.
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
    const std::vector<storage::StreamPart> parts = session().parts();
    const QString name = free_name(QStringLiteral("%1, %2").arg(text_of(session().name()), wish.policy));
    close_session();
    open(name.toStdString(), stored_options(wish), true);
    read_with([&] {
        for (const storage::StreamPart& part : parts)
            if (part.document) session().read_stored(*part.document);
    });
}

// ---- the library

bool EngineThread::Worker::is_open(const QString& name) const
{
    return session_ && session_is_saved_ && text_of(session_->name()) == name;
}

// What is being computed on cannot be changed now: then it is, later.
bool EngineThread::Worker::must_wait(const QString& name, const Work& work)
{
    if (!cuts_in_ || !is_open(name)) return false;
    add(Activity::Saving, name, work, true);
    return true;
}

void EngineThread::Worker::export_session(const QString& name, const QString& file)
{
    if (is_open(name) && !cuts_in_) session().save();
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
    if (must_wait(name, [=](Worker& worker) { worker.rename_session(name, to); })) return;
    if (is_open(name))
        session().rename(to.toStdString());
    else
        store().conversations.rename(store().conversations.get(name.toStdString()).id, to.toStdString());
    Q_EMIT owner_.library_changed();
    if (is_open(to)) tell_facts();
}

void EngineThread::Worker::fork_session(const QString& name, const QString& to)
{
    if (is_open(name) && !cuts_in_) session().save();
    storage::fork_session(store(), name.toStdString(), to.toStdString());
    Q_EMIT owner_.library_changed();
}

void EngineThread::Worker::remove_session(const QString& name)
{
    if (must_wait(name, [=](Worker& worker) { worker.remove_session(name); })) return;
    if (is_open(name)) close_session();
    const auto no_backup = store().conversations.remove(store().conversations.get(name.toStdString()).id);
    if (no_backup) note(std::string("what is left has no backup now: ") + no_backup->what());
    Q_EMIT owner_.library_changed();
}

void EngineThread::Worker::run(const std::function<void(Tools&)>& work)
{
    need_model();
    Tools tools{.model = model_,
                .store = session_ ? place() : store(),
                .session = session_.get(),
                .stop = stop_,
                .progress = [this](double share, std::optional<double> seconds_left) {
                    let_others_cut_in();
                    frame_.share = share;
                    frame_.seconds_left = seconds_left;
                    tell_frame(false);
                }};
    work(tools);
}

} // namespace palimpsest::ui
