#include "ui/desktop/workbench.h"

#include <utility>

#include "ui/window/notifier.h"
#include "ui/window/sleep_inhibitor.h"
#include "ui/window/tour.h"

namespace palimpsest::ui {
namespace {

constexpr int frame_ms = 33;

// Returns why the session cannot be saved or continued, with the remedy; empty if it can.
QString trouble_of(const SessionFacts* session)
{
    if (!session) return {};
    return session->not_stored ? session->not_stored->sentence : session->text_only;
}

} // namespace

Workbench::Workbench(MainWindow& window, EngineThread& engine, PreferenceStore& store)
    : window_(window), engine_(engine), store_(store), notifier_(new Notifier(&window)),
      inhibitor_(new SleepInhibitor(this))
{
    pace_.setSingleShot(true);
    pace_.setInterval(frame_ms);
    connect(&pace_, &QTimer::timeout, this, &Workbench::show_frame);
    connect(notifier_, &Notifier::raise_wanted, &window_, &MainWindow::bring_to_front);
    connect_requests();
    connect_engine();
    apply(window_.preferences());
}

void Workbench::connect_requests()
{
    MainWindow* w = &window_;
    EngineThread* e = &engine_;
    connect(w, &MainWindow::read_wanted, this, &Workbench::read);
    connect(w, &MainWindow::new_session_wanted, this, &Workbench::begin_session);
    connect(w, &MainWindow::open_session_wanted, e, &EngineThread::open_session);
    connect(w, &MainWindow::rename_wanted, e, &EngineThread::rename_session);
    connect(w, &MainWindow::remove_wanted, this,
            [this](const QString& name) { removals_.insert(engine_.remove_session(name)); });
    connect(w, &MainWindow::empty_wanted, this, &Workbench::empty);
    connect(w, &MainWindow::duplicate_wanted, e, &EngineThread::fork_session);
    connect(w, &MainWindow::export_wanted, e, &EngineThread::export_session);
    connect(w, &MainWindow::import_wanted, e, &EngineThread::import_session);
    connect(w, &MainWindow::export_open_wanted, this, [this](const QString& file) {
        begun_ = true;
        engine_.open_export(file);
    });
    connect(w, &MainWindow::session_about_wanted, this, &Workbench::begin_session_about);
    connect(w, &MainWindow::add_to_library_wanted, e, &EngineThread::add_to_library);
    connect(w, &MainWindow::keep_wanted, e, &EngineThread::keep);
    connect(w, &MainWindow::stop_keeping_wanted, e, &EngineThread::stop_keeping);
    connect(w, &MainWindow::index_wanted, e, &EngineThread::index_documents);
    connect(w, &MainWindow::model_wanted, e, &EngineThread::load_model);
    connect(w, &MainWindow::stop_wanted, e, &EngineThread::stop);
    connect(w, &MainWindow::regenerate_wanted, e, &EngineThread::regenerate);
    connect(w, &MainWindow::undo_wanted, e, &EngineThread::undo);
    connect(w, &MainWindow::ask_wanted, this, &Workbench::ask);
    connect(w, &MainWindow::preferences_changed, this, &Workbench::apply);
}

void Workbench::connect_engine()
{
    const EngineThread* e = &engine_;
    connect(e, &EngineThread::frame_changed, this, [this] {
        if (!pace_.isActive()) pace_.start();
    });
    connect(e, &EngineThread::model_changed, &window_, &MainWindow::set_model);
    connect(e, &EngineThread::session_changed, this, &Workbench::show_session);
    connect(e, &EngineThread::library_changed, this, [this] { window_.library().refresh(); });
    connect(e, &EngineThread::failed, this, &Workbench::show_failure);
    connect(e, &EngineThread::finished, this, [this](quint64 id) { removals_.remove(id); });
    connect(e, &EngineThread::noted, this,
            [this](const QString& sentence) { window_.tell(MessageBar::Kind::Note, sentence); });
    connect(e, &EngineThread::device_lost, this, [this](const QString& device) {
        window_.tell(MessageBar::Kind::Failure,
                     tr("The device %1 stopped responding. Nothing was lost: it goes on with "
                        "the processor; restart Palimpsest to use the device again.")
                         .arg(device));
    });
    connect(e, &EngineThread::reading_finished, this, &Workbench::notify_reading_ended);
    connect(e, &EngineThread::answer_finished, &window_, [this](quint64, const Turn& answer) {
        if (answer.state != storage::MessageState::Stopped) window_.complete_task(TourTask::Ask);
    });
}

void Workbench::begin(const StartRequest& request)
{
    engine_.load_model(window_.preferences().model);
    if (!request.files.isEmpty()) {
        window_.open_paths(request.files);
        begun_ = true;
    }
    connect(&window_.library().model(), &QAbstractItemModel::modelReset, this, &Workbench::open_last_session);
    open_last_session();
    if (!store_.tour_was_taken() && request.files.isEmpty()) window_.start_tour();
}

// Opens the last session once the library is loaded. A session whose reading was interrupted is only selected,
// because reading may take hours.
void Workbench::open_last_session()
{
    const QModelIndex last = window_.library().model().index_of(store_.last_session());
    if (begun_ || !last.isValid()) return;
    begun_ = true;
    window_.library().choose(store_.last_session());
    if (!last.data(LibraryModel::UnfinishedRole).toBool()) engine_.open_session(store_.last_session());
}

void Workbench::take(const StartRequest& request)
{
    if (!request.activation.isEmpty()) qputenv("XDG_ACTIVATION_TOKEN", request.activation);
    window_.bring_to_front();
    if (!request.files.isEmpty()) window_.open_paths(request.files);
}

void Workbench::read(const QStringList& files)
{
    begun_ = true;
    engine_.begin_session(new_session(), files);
}

void Workbench::begin_session(bool saved)
{
    begun_ = true;
    NewSession request = new_session();
    request.saved = saved;
    engine_.begin_session(request);
}

CommandId Workbench::begin_session_about(qint64 document)
{
    begun_ = true;
    return engine_.begin_session_about({document}, new_session());
}

// Returns the button that reads the documents of a session whose model is missing; none if it has read none.
MessageBar::Action Workbench::read_with_this_model()
{
    std::vector<int64_t> documents;
    for (const DocumentPart& document : facts_->documents)
        documents.push_back(document.info.id);
    if (documents.empty()) return {};
    return {tr("Read with this model"),
            [this, documents] { engine_.begin_session_about(documents, new_session()); }};
}

void Workbench::ask(const QString& text)
{
    begun_ = true;
    engine_.ask(text, new_session());
}

void Workbench::set_next_system(const QString& system)
{
    next_system_ = system;
}

NewSession Workbench::new_session() const
{
    NewSession request = window_.preferences().new_session();
    if (next_system_ && !facts_) request.system = *next_system_;
    return request;
}

void Workbench::show_frame()
{
    if (auto frame = engine_.frame()) frame_ = std::move(frame);
    const bool reads = frame_->activity == Activity::Reading || frame_->activity == Activity::WritingNotes;
    window_.set_frame(*frame_);
    notifier_->set_running(frame_->activity != Activity::Idle && frame_->activity != Activity::Saving,
                           frame_->what);
    inhibitor_->set_wanted(reads, tr("A document is being read"));
    Q_EMIT frame_shown(frame_);
}

void Workbench::show_session(std::shared_ptr<const SessionFacts> facts)
{
    const std::shared_ptr<const SessionFacts> before = std::exchange(facts_, std::move(facts));
    if (facts_) {
        begun_ = true;
        next_system_.reset();
    }
    window_.set_session(facts_);
    Q_EMIT session_shown(facts_);
    show_frame(); // new views have not received the newest frame
    show_session_error(before.get());
}

void Workbench::show_session_error(const SessionFacts* before)
{
    const QString was = trouble_of(before), is = trouble_of(facts_.get());
    if (!was.isEmpty() && was != is) window_.withdraw(was);
    if (was != is) window_.withdraw(std::exchange(told_meanwhile_, {}));
    if (before && facts_ && before->id == facts_->id && before->not_stored && !facts_->not_stored)
        window_.tell(MessageBar::Kind::Note, tr("What was said is saved now."));
    if (is.isEmpty()) return;
    const bool is_text = facts_ && !facts_->text_only.isEmpty();
    window_.tell(MessageBar::Kind::Failure, is, is_text ? read_with_this_model() : retry());
}

// Returns the button that stores waiting turns; none if no turn waits, or if trying again does not help.
MessageBar::Action Workbench::retry()
{
    if (!facts_ || !facts_->not_stored || !facts_->not_stored->may_try_again) return {};
    return {tr("Retry"), [this] { engine_.store_turns(); }};
}

void Workbench::show_failure(CommandId id, const Failure& failure)
{
    if (removals_.remove(id)) window_.library().removal_failed();
    window_.tell(MessageBar::Kind::Failure, failure.sentence, retry());
    if (facts_ && facts_->not_stored) told_meanwhile_ = failure.sentence;
}

void Workbench::notify_reading_ended(const QString& what, bool complete)
{
    if (complete) window_.complete_task(TourTask::Read);
    notifier_->tell(complete ? tr("%1 was read").arg(what) : tr("Reading %1 has stopped").arg(what),
                    complete ? tr("It can be asked about now.") : tr("It goes on when its session is opened."));
}

void Workbench::apply(const Preferences& preferences)
{
    engine_.set_sampling(preferences.sampling, preferences.max_tokens);
    engine_.set_rereads(preferences.rereads);
    engine_.set_answers_from_sentences(preferences.answers_from_sentences);
    engine_.set_writes_notes(preferences.writes_notes);
}

void Workbench::empty()
{
    engine_.stop();
    for (const QString& name : window_.library().model().all_sessions())
        removals_.insert(engine_.remove_session(name));
}

} // namespace palimpsest::ui
