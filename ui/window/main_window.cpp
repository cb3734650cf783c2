#include "ui/window/main_window.h"

#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QStatusBar>
#include <QStyle>
#include <QTabBar>
#include <QVBoxLayout>

#include "kernels/base/error.h"
#include "storage/models/default_model.h"
#include "ui/base/icon.h"
#include "ui/base/wording.h"
#include "ui/window/about_dialog.h"
#include "ui/window/appearance.h"
#include "ui/window/area_cycle.h"
#include "ui/window/area_tabs.h"
#include "ui/window/file_dialogs.h"
#include "ui/window/file_kind.h"
#include "ui/window/leave_question.h"
#include "ui/window/model_bar.h"
#include "ui/window/recent_menu.h"
#include "ui/window/sample_tour.h"
#include "ui/window/status_line.h"
#include "ui/window/tour.h"
#include "ui/window/window_dialogs.h"
#include "ui/window/window_docks.h"

namespace palimpsest::ui {
namespace {

QStringList local_files(const QMimeData& data)
{
    QStringList files;
    for (const QUrl& url : data.urls())
        if (url.isLocalFile()) files.append(url.toLocalFile());
    return files;
}

} // namespace

MainWindow::MainWindow(const WindowAreas& areas, const WindowPlaces& places, PreferenceStore& store,
                       QWidget* parent)
    : QMainWindow(parent), places_(places), store_(store), preferences_(store.load()), actions_(new Actions(this)),
      cycle_(new AreaCycle(this)), library_(new LibraryView({.database = places.database}, this)),
      model_bar_(new ModelBar(*actions_, places, this)), status_line_(new StatusLine(this)),
      messages_(new MessageBar(this)), files_(new FileDialogs(this)),
      dialogs_(new WindowDialogs(*actions_, places_, store_, this))
{
    setWindowIcon(program_icon());
    setAcceptDrops(true);
    build(areas);
    connect_file_actions();
    connect_session_actions();
    connect_view_actions();
    connect_help_actions();
    connect_library();
    const QSize wanted(fontMetrics().averageCharWidth() * 170, fontMetrics().height() * 48);
    // An estimate, because the frame is unknown until the window is shown.
    const QSize frame(0, style()->pixelMetric(QStyle::PM_TitleBarHeight));
    resize(wanted.expandedTo({1280, 800}).boundedTo(screen()->availableSize() - frame));
    docks_->arrange();
    restoreGeometry(store_.geometry());
    docks_->restore(store_.layout());
    set_session(nullptr);
    update_actions();
}

MainWindow::~MainWindow() = default;

// ---- construction

void MainWindow::build(const WindowAreas& areas)
{
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
    setTabPosition(Qt::RightDockWidgetArea, QTabWidget::North);
    if (preferences_.reduced_motion) setAnimated(false);
    addToolBar(model_bar_);
    // The tool bar cannot be hidden, because only it offers the choice of a model.
    model_bar_->toggleViewAction()->setEnabled(false);
    tabs_ = new AreaTabs(areas, this);
    auto* middle = new QWidget(this);
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(messages_);
    column->addWidget(tabs_, 1);
    setCentralWidget(middle);
    docks_ = new WindowDocks(this, areas, library_);
    build_menus();
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(status_line_, 1);
    model_bar_->set_choice(preferences_.model, places_.models_folder_or(preferences_.models_folder));
    cycle_->add(library_);
    cycle_->add(model_bar_);
    cycle_->add(tabs_);
    for (QDockWidget* dock : docks_->all())
        if (dock->widget() != library_) cycle_->add(dock);
    cycle_->add(status_line_);
}

void MainWindow::build_menus()
{
    actions_->fill(*menuBar());
    QMenu* file = actions_->menu(MenuId::File);
    recent_ = new RecentMenu(store_, file);
    file->insertMenu((*actions_)[ActionId::ImportSession], recent_);
    QMenu* view = actions_->menu(MenuId::View);
    QAction* before = (*actions_)[ActionId::Find];
    view->insertSeparator(before);
    for (QDockWidget* dock : docks_->all())
        view->insertAction(before, dock->toggleViewAction());
}

// ---- what is shown

void MainWindow::set_frame(const Frame& frame)
{
    const bool was_idle = activity_ == Activity::Idle;
    const bool was_reading = activity_ == Activity::Reading;
    activity_ = frame.activity;
    status_line_->set_frame(frame);
    if (was_idle == (activity_ == Activity::Idle) && was_reading == (activity_ == Activity::Reading)) return;
    update_actions();
    update_title();
    library_->set_open_session(facts_ ? facts_->name : QString(), activity_ != Activity::Idle);
}

void MainWindow::set_session(std::shared_ptr<const SessionFacts> facts)
{
    facts_ = std::move(facts);
    status_line_->set_session(facts_.get());
    library_->set_open_session(facts_ ? facts_->name : QString(), activity_ != Activity::Idle);
    if (facts_ && facts_->saved) store_.set_last_session(facts_->name);
    update_title();
    update_actions();
}

void MainWindow::set_model(const QString& name, const QString& device)
{
    model_bar_->set_loaded(name, device);
}

void MainWindow::tell(MessageBar::Kind kind, const QString& sentence, const MessageBar::Action& action)
{
    messages_->show_message(kind, sentence, action);
}

void MainWindow::withdraw(const QString& sentence)
{
    messages_->withdraw(sentence);
}

void MainWindow::show_tab(Tab tab)
{
    if (!tabs_->has(tab)) return;
    tabs_->show_tab(tab);
    cycle_->focus(tabs_->currentWidget());
}

void MainWindow::focus_policy()
{
    if (!docks_->policy()) return;
    docks_->policy()->show();
    docks_->policy()->raise();
    cycle_->focus(docks_->policy());
}

void MainWindow::bring_to_front()
{
    if (isMinimized()) showNormal();
    show();
    raise();
    activateWindow();
}

void MainWindow::update_title()
{
    QString title = tr("Palimpsest");
    if (facts_) {
        const QString name = QString(facts_->name).replace(QStringLiteral("[*]"), QStringLiteral("[*][*]"));
        title = facts_->saved ? tr("Palimpsest — %1[*]").arg(name) : tr("Palimpsest — %1 (not saved)[*]").arg(name);
    }
    setWindowTitle(title);
    const bool changes = activity_ == Activity::Reading || activity_ == Activity::Answering;
    setWindowModified(facts_ && changes); // the latest changes are not stored yet
}

void MainWindow::update_actions()
{
    const auto enable = [&](bool is_possible, std::initializer_list<ActionId> ids) {
        for (const ActionId id : ids)
            (*actions_)[id]->setEnabled(is_possible);
    };
    const bool has_turns = facts_ && !facts_->turns.empty();
    const QModelIndex chosen = library_->model().index_of(library_->current_session());
    enable(activity_ != Activity::Idle, {ActionId::Stop});
    enable(has_turns, {ActionId::Regenerate, ActionId::Undo});
    enable(!chosen_session().isEmpty(), {ActionId::ExportSession, ActionId::Duplicate});
    enable(chosen.isValid(), {ActionId::Rename, ActionId::Remove});
    enable(chosen.isValid() && chosen.data(LibraryModel::UnfinishedRole).toBool(), {ActionId::GoOn});
    enable(library_->can_undo_removal(), {ActionId::UndoRemoval});
    enable(facts_ && !facts_->documents.empty(), {ActionId::Find});
    enable(facts_ != nullptr, {ActionId::ExportMap});
    enable(docks_->policy() != nullptr, {ActionId::ChoosePolicy});
    for (const auto& [id, tab] : {std::pair{ActionId::ShowChat, Tab::Chat},
                                  {ActionId::ShowDocument, Tab::Document},
                                  {ActionId::ShowOutline, Tab::Outline},
                                  {ActionId::ShowCompare, Tab::Compare},
                                  {ActionId::ComparePolicies, Tab::Compare}})
        enable(tabs_->has(tab), {id});
}

QString MainWindow::chosen_session() const
{
    const QString chosen = library_->current_session();
    return chosen.isEmpty() && facts_ && facts_->saved ? facts_->name : chosen;
}

// ---- actions

void MainWindow::connect_file_actions()
{
    actions_->on(ActionId::NewSession, [this] { Q_EMIT new_session_wanted(true); });
    actions_->on(ActionId::NewIncognito, [this] { Q_EMIT new_session_wanted(false); });
    actions_->on(ActionId::OpenFiles, [this] { ask_for_documents(); });
    actions_->on(ActionId::AddFolder, [this] { files_->ask_for_folder(QDir::homePath()); });
    connect(files_, &FileDialogs::folder_chosen, this,
            [this](const QString& folder) { Q_EMIT add_to_library_wanted({folder}); });
    actions_->on(ActionId::ImportSession, [this] { files_->ask_for_import(); });
    actions_->on(ActionId::ExportSession, [this] { files_->ask_where_to_export(chosen_session()); });
    actions_->on(ActionId::ShowSettings, [this] { dialogs_->show_settings(preferences_); });
    actions_->on(ActionId::Quit, [this] { close(); });
    connect(recent_, &RecentMenu::file_wanted, this, [this](const QString& file) { open_paths({file}); });
    connect(files_, &FileDialogs::documents_chosen, this, &MainWindow::open_paths);
    connect(files_, &FileDialogs::import_chosen, this, &MainWindow::import_wanted);
    connect(files_, &FileDialogs::export_chosen, this, &MainWindow::export_wanted);
    connect(model_bar_, &ModelBar::other_model_wanted, this,
            [this] { files_->ask_for_model(places_.models_folder_or(preferences_.models_folder)); });
    const auto take_model = [this](const QString& path) {
        ModelChoiceRequest request = preferences_.model;
        request.model = path;
        change_model(request);
    };
    connect(files_, &FileDialogs::model_chosen, this, take_model);
    connect(model_bar_, &ModelBar::model_wanted, this, take_model);
    connect(model_bar_, &ModelBar::default_wanted, this, &MainWindow::make_default);
    connect(model_bar_, &ModelBar::device_wanted, this, [this](const QString& device) {
        ModelChoiceRequest request = preferences_.model;
        request.device = device;
        change_model(request);
    });
}

void MainWindow::connect_session_actions()
{
    actions_->on(ActionId::AskQuestion, [this] {
        show_tab(Tab::Chat);
        Q_EMIT question_wanted();
    });
    actions_->on(ActionId::Stop, [this] { Q_EMIT stop_wanted(); });
    actions_->on(ActionId::Regenerate, [this] { Q_EMIT regenerate_wanted(); });
    actions_->on(ActionId::Undo, [this] { Q_EMIT undo_wanted(); });
    actions_->on(ActionId::GoOn, [this] { Q_EMIT open_session_wanted(library_->current_session()); });
    actions_->on(ActionId::Rename, [this] { library_->rename_current(); });
    actions_->on(ActionId::Duplicate, [this] { duplicate(chosen_session()); });
    actions_->on(ActionId::Remove, [this] { library_->remove(library_->current_session()); });
    actions_->on(ActionId::UndoRemoval, [this] { library_->undo_removal(); });
    connect(status_line_, &StatusLine::cancel_wanted, this, &MainWindow::stop_wanted);
}

void MainWindow::connect_view_actions()
{
    actions_->on(ActionId::ShowChat, [this] { show_tab(Tab::Chat); });
    actions_->on(ActionId::ShowDocument, [this] { show_tab(Tab::Document); });
    actions_->on(ActionId::ShowOutline, [this] { show_tab(Tab::Outline); });
    actions_->on(ActionId::ShowCompare, [this] { show_tab(Tab::Compare); });
    actions_->on(ActionId::ComparePolicies, [this] { show_tab(Tab::Compare); });
    actions_->on(ActionId::Find, [this] {
        show_tab(Tab::Document);
        Q_EMIT find_wanted();
    });
    actions_->on(ActionId::SearchLibrary, [this] {
        docks_->library()->show();
        library_->focus_search();
    });
    actions_->on(ActionId::LargerText, [this] { change_text_size(preferences_.text_percent + text_percent_step); });
    actions_->on(ActionId::SmallerText,
                 [this] { change_text_size(preferences_.text_percent - text_percent_step); });
    actions_->on(ActionId::NormalText, [this] { change_text_size(100); });
    actions_->on(ActionId::FullScreen, [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
    actions_->on(ActionId::NextArea, [this] { cycle_->go(1); });
    actions_->on(ActionId::PreviousArea, [this] { cycle_->go(-1); });
    actions_->on(ActionId::ResetLayout, [this] { docks_->reset(); });
    actions_->on(ActionId::ChoosePolicy, [this] { focus_policy(); });
    actions_->on(ActionId::ExportMap, [this] { Q_EMIT map_export_wanted(); });
}

void MainWindow::connect_help_actions()
{
    actions_->on(ActionId::CommandPalette, [this] { dialogs_->show_palette(); });
    actions_->on(ActionId::KeyboardHelp, [this] { dialogs_->show_keys(); });
    actions_->on(ActionId::TakeTour, [this] { start_tour(); });
    actions_->on(ActionId::About, [this] { dialogs_->show_about(AboutPage::Program, preferences_); });
    actions_->on(ActionId::Privacy, [this] { dialogs_->show_about(AboutPage::Privacy, preferences_); });
    connect(dialogs_, &WindowDialogs::preferences_chosen, this, &MainWindow::change_preferences);
    connect(dialogs_, &WindowDialogs::empty_wanted, this, &MainWindow::empty_wanted);
}

void MainWindow::connect_library()
{
    connect(library_, &LibraryView::open_wanted, this, &MainWindow::open_session_wanted);
    connect(library_, &LibraryView::new_session_wanted, this, &MainWindow::open_paths);
    connect(library_, &LibraryView::files_dropped, this, &MainWindow::open_paths);
    connect(library_, &LibraryView::open_files_wanted, this, &MainWindow::ask_for_documents);
    connect(library_, &LibraryView::rename_wanted, this, &MainWindow::rename_wanted);
    connect(library_, &LibraryView::remove_wanted, this, &MainWindow::remove_wanted);
    connect(library_, &LibraryView::export_wanted, files_, &FileDialogs::ask_where_to_export);
    connect(library_, &LibraryView::import_wanted, files_, &FileDialogs::ask_for_import);
    connect(library_, &LibraryView::duplicate_wanted, this, &MainWindow::duplicate);
    connect(library_, &LibraryView::hit_activated, this, &MainWindow::hit_wanted);
    connect(library_, &LibraryView::session_about_wanted, this, &MainWindow::session_about_wanted);
    connect(library_, &LibraryView::keep_wanted, this, &MainWindow::keep_wanted);
    connect(library_, &LibraryView::stop_keeping_wanted, this, &MainWindow::stop_keeping_wanted);
    connect(library_, &LibraryView::index_wanted, this, &MainWindow::index_wanted);
    connect(library_, &LibraryView::current_changed, this, &MainWindow::update_actions);
    connect(library_, &LibraryView::failed, this,
            [this](const Failure& failure) { tell(MessageBar::Kind::Failure, failure.sentence); });
}

// ---- files, models and sessions

void MainWindow::open_paths(const QStringList& paths)
{
    QStringList documents, folders;
    for (const QString& path : paths) {
        switch (kind_of(path)) {
        case FileKind::Document:
            documents.append(path);
            break;
        case FileKind::Export:
            Q_EMIT export_open_wanted(path);
            break;
        case FileKind::Model: {
            ModelChoiceRequest request = preferences_.model;
            request.model = QFileInfo(path).absoluteFilePath();
            change_model(request);
            break;
        }
        case FileKind::ModelFolder: {
            Preferences changed = preferences_;
            changed.models_folder = QFileInfo(path).absoluteFilePath();
            change_preferences(changed);
            tell(MessageBar::Kind::Note, tr("The models of %1 are offered in the tool bar now.").arg(path));
            break;
        }
        case FileKind::Folder:
            folders.append(path);
            break;
        case FileKind::Nothing:
            tell(MessageBar::Kind::Failure, tr("%1: there is no such file or folder; check its name.").arg(path));
        }
    }
    if (!folders.isEmpty()) Q_EMIT add_to_library_wanted(folders);
    if (documents.isEmpty()) return;
    recent_->add(documents);
    Q_EMIT read_wanted(documents);
}

void MainWindow::ask_for_documents()
{
    const QStringList recent = store_.recent_files();
    files_->ask_for_documents(recent.isEmpty() ? QDir::homePath() : QFileInfo(recent.first()).path());
}

void MainWindow::duplicate(const QString& session)
{
    if (session.isEmpty()) return;
    QString name = tr("%1 (copy)").arg(session);
    const QStringList taken = library_->model().all_sessions();
    for (int number = 2; taken.contains(name); ++number)
        name = tr("%1 (copy %2)").arg(session).arg(number);
    Q_EMIT duplicate_wanted(session, name);
}

void MainWindow::change_model(const ModelChoiceRequest& request)
{
    Preferences changed = preferences_;
    changed.model = request;
    change_preferences(changed);
    Q_EMIT model_wanted(request);
}

// Stores the default in config.json, which the command uses too, and clears the window's own choice.
void MainWindow::make_default(const QString& model)
{
    try {
        storage::set_default(model.toStdString());
    } catch (const Error& error) {
        return tell(MessageBar::Kind::Failure, shown(error));
    }
    model_bar_->refresh_area();
    Preferences changed = preferences_;
    changed.model.model.clear();
    change_preferences(changed);
    tell(MessageBar::Kind::Note, tr("This model is the default now, also for the command."));
}

// ---- preferences

void MainWindow::change_preferences(const Preferences& preferences)
{
    preferences_ = preferences;
    store_.save(preferences);
    apply_appearance(preferences);
    setAnimated(!preferences.reduced_motion);
    model_bar_->set_choice(preferences.model, places_.models_folder_or(preferences.models_folder));
    Q_EMIT preferences_changed(preferences);
}

void MainWindow::change_text_size(int percent)
{
    Preferences changed = preferences_;
    changed.text_percent = std::clamp(percent, least_text_percent, most_text_percent);
    change_preferences(changed);
}

void MainWindow::start_tour()
{
    if (!tour_) build_tour();
    store_.set_tour_taken();
    tour_->begin();
}

void MainWindow::build_tour()
{
    tour_ = new Tour(this, sample_tour({.library = docks_->tour_area("library"),
                                        .chat = tabs_->tour_area(Tab::Chat),
                                        .document = tabs_->tour_area(Tab::Document),
                                        .map = docks_->tour_area("map"),
                                        .memory = docks_->tour_area("memory"),
                                        .policy = docks_->tour_area("policy"),
                                        .has_sample = !places_.sample.isEmpty(),
                                        .read_sample = [this] { Q_EMIT read_wanted({places_.sample}); },
                                        .ask = [this](const QString& text) { Q_EMIT ask_wanted(text); }}));
    auto* column = qobject_cast<QVBoxLayout*>(centralWidget()->layout());
    column->insertWidget(column->indexOf(tabs_), tour_);
    connect(tabs_, &QTabWidget::currentChanged, tour_, &Tour::refresh_area);
    for (const QDockWidget* area : docks_->all())
        connect(area, &QDockWidget::visibilityChanged, tour_, &Tour::refresh_area, Qt::QueuedConnection);
}

void MainWindow::complete_task(TourTask task)
{
    if (tour_) tour_->complete(task);
}

// ---- events

void MainWindow::leave()
{
    leaves_ = true;
    close();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (facts_ && facts_->not_stored && !leaves_) {
        event->ignore();
        if (findChild<LeaveQuestion*>()) return;
        auto* question = new LeaveQuestion(facts_->not_stored->sentence, this);
        connect(question, &LeaveQuestion::leave_wanted, this, &MainWindow::leave);
        return question->open();
    }
    library_->commit_removals();
    store_.set_geometry(saveGeometry());
    store_.set_layout(docks_->state());
    store_.sync();
    Q_EMIT closing();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    event->acceptProposedAction();
    open_paths(local_files(*event->mimeData()));
}

bool MainWindow::event(QEvent* event)
{
    const bool handled = QMainWindow::event(event);
    if (event->type() == QEvent::ChildPolished)
        if (auto* bar = qobject_cast<QTabBar*>(static_cast<QChildEvent*>(event)->child()))
            bar->setAccessibleName(tr("Areas in one place")); // Qt creates this tab bar when docks share one place
    if (event->type() == QEvent::WindowStateChange) (*actions_)[ActionId::FullScreen]->setChecked(isFullScreen());
    if (event->type() == QEvent::Paint && !std::exchange(painted_, true))
        QMetaObject::invokeMethod(this, &MainWindow::first_painted, Qt::QueuedConnection);
    return handled;
}

} // namespace palimpsest::ui
