#include "ui/window/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QStatusBar>
#include <QStyle>
#include <QTabBar>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>

#include "kernels/base/error.h"
#include "storage/models/default_model.h"
#include "ui/base/icon.h"
#include "ui/base/quantity.h"
#include "ui/engine/failure.h"
#include "ui/window/about_dialog.h"
#include "ui/window/appearance.h"
#include "ui/window/area_cycle.h"
#include "ui/window/command_palette.h"
#include "ui/window/file_kind.h"
#include "ui/window/keyboard_help.h"
#include "ui/window/model_bar.h"
#include "ui/window/sample_tour.h"
#include "ui/window/settings_dialog.h"
#include "ui/window/status_line.h"
#include "ui/window/stored_places.h"
#include "ui/window/tour.h"

namespace palimpsest::ui {
namespace {

constexpr int layout_version = 1; // increment when the set of docks changes

QStringList local_files(const QMimeData& data)
{
    QStringList files;
    for (const QUrl& url : data.urls())
        if (url.isLocalFile()) files.append(url.toLocalFile());
    return files;
}

QString idle_text(const SessionFacts* facts)
{
    if (!facts) return MainWindow::tr("Ready");
    const QString read = MainWindow::tr("%1 of %2 tokens read")
                             .arg(count_text(facts->tokens_read), count_text(facts->tokens_in_input));
    const QString policy = facts->policy.section(u':', 0, 0); // parameters are shown in the policy area
    return MainWindow::tr("%1 · %2").arg(read, policy);
}

// Window-modal; does not block the event loop.
void show_dialog(QDialog* dialog)
{
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

} // namespace

MainWindow::MainWindow(const WindowAreas& areas, const WindowPlaces& places, PreferenceStore& store,
                       QWidget* parent)
    : QMainWindow(parent), places_(places), store_(store), preferences_(store.load()), actions_(new Actions(this)),
      cycle_(new AreaCycle(this)), library_(new LibraryView({.database = places.database}, this)),
      model_bar_(new ModelBar(*actions_, places, this)), status_line_(new StatusLine(this)),
      messages_(new MessageBar(this)), tabs_(new QTabWidget(this))
{
    setWindowIcon(program_icon());
    setAcceptDrops(true);
    build(areas);
    connect_file_actions();
    connect_session_actions();
    connect_view_actions();
    connect_help_actions();
    connect_library();
    restore_layout();
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
    model_bar_->toggleViewAction()->setEnabled(false); // the tool bar cannot be hidden: it chooses the model
    build_tabs(areas);
    build_docks(areas);
    build_menus();
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(status_line_, 1);
    model_bar_->set_choice(preferences_.model, usual_or(preferences_.models_folder));
    cycle_->add(library_);
    cycle_->add(model_bar_);
    cycle_->add(tabs_);
    for (QDockWidget* dock : docks_)
        if (dock->widget() != library_) cycle_->add(dock);
    cycle_->add(status_line_);
}

void MainWindow::build_tabs(const WindowAreas& areas)
{
    tabs_->setAccessibleName(tr("Chat, document and comparison"));
    tabs_->tabBar()->setAccessibleName(tabs_->accessibleName());
    tabs_->setDocumentMode(true);
    const auto add = [&](const WindowAreas::Make& make, const QString& title, const char* symbol) {
        if (make)
            tabs_->addTab(make(tabs_), icon(symbol), title);
        else
            tabs_->setTabVisible(tabs_->addTab(new QWidget(tabs_), title), false);
    };
    add(areas.chat, tr("Chat"), "chat");
    add(areas.document, tr("Document"), "document");
    add(areas.compare, tr("Compare"), "compare");
    auto* middle = new QWidget(this);
    middle_ = new QVBoxLayout(middle);
    middle_->setContentsMargins(0, 0, 0, 0);
    middle_->setSpacing(0);
    middle_->addWidget(messages_);
    middle_->addWidget(tabs_, 1);
    setCentralWidget(middle);
}

QDockWidget* MainWindow::build_dock(const char* name, const QString& title, const char* symbol, QWidget* inside,
                                    Qt::DockWidgetArea where)
{
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(QLatin1String(name)); // the key under which saveState() stores the dock
    dock->setAccessibleName(title);
    dock->setWidget(inside);
    dock->toggleViewAction()->setIcon(icon(symbol));
    dock->toggleViewAction()->setStatusTip(tr("Show or hide the area “%1”").arg(title));
    const int number = static_cast<int>(docks_.size()) + 1;
    dock->toggleViewAction()->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(number)));
    addDockWidget(where, dock);
    addAction(dock->toggleViewAction());
    docks_.push_back(dock);
    return dock;
}

void MainWindow::build_docks(const WindowAreas& areas)
{
    build_dock("library", tr("Library"), "document", library_, Qt::LeftDockWidgetArea);
    const auto right = [&](const WindowAreas::Make& make, const char* name, const QString& title) -> QDockWidget* {
        return make ? build_dock(name, title, name, make(this), Qt::RightDockWidgetArea) : nullptr;
    };
    right(areas.map, "map", tr("Retained tokens"));
    QDockWidget* memory = right(areas.memory, "memory", tr("Memory"));
    policy_dock_ = right(areas.policy, "policy", tr("Policy"));
    if (memory && policy_dock_) tabifyDockWidget(memory, policy_dock_); // leaves more height for the map
    if (memory) memory->raise();
}

void MainWindow::build_menus()
{
    actions_->fill(*menuBar());
    QMenu* file = actions_->menu(MenuId::File);
    recent_ = new QMenu(tr("Open &recent"), file);
    file->insertMenu((*actions_)[ActionId::ImportSession], recent_);
    update_recent_files();
    QMenu* view = actions_->menu(MenuId::View);
    QAction* before = (*actions_)[ActionId::Find];
    view->insertSeparator(before);
    for (QDockWidget* dock : docks_)
        view->insertAction(before, dock->toggleViewAction());
}

void MainWindow::restore_layout()
{
    const QSize wanted(fontMetrics().averageCharWidth() * 170, fontMetrics().height() * 48);
    const QSize frame(0, style()->pixelMetric(QStyle::PM_TitleBarHeight)); // the frame is unknown until shown
    resize(wanted.expandedTo({1280, 800}).boundedTo(screen()->availableSize() - frame));
    reset_layout();
    first_layout_ = saveState(layout_version);
    restoreGeometry(store_.geometry());
    restoreState(store_.layout(), layout_version);
}

void MainWindow::reset_layout()
{
    if (!first_layout_.isEmpty()) restoreState(first_layout_, layout_version);
    for (QDockWidget* dock : docks_)
        dock->show();
    const int left = fontMetrics().averageCharWidth() * 36, right = fontMetrics().averageCharWidth() * 52;
    QList<QDockWidget*> stack(docks_.begin() + 1, docks_.end());
    resizeDocks({docks_.front()}, {left}, Qt::Horizontal);
    if (stack.isEmpty()) return;
    resizeDocks({stack.front()}, {right}, Qt::Horizontal);
    QList<int> heights(stack.size(), height() * 45 / 100);
    heights.front() = height() * 55 / 100;
    resizeDocks(stack, heights, Qt::Vertical);
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
    status_line_->set_idle_text(idle_text(facts_.get()));
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
    const int index = static_cast<int>(tab);
    if (!tabs_->isTabVisible(index)) return;
    tabs_->setCurrentIndex(index);
    cycle_->focus(tabs_->currentWidget());
}

void MainWindow::focus_policy()
{
    if (!policy_dock_) return;
    policy_dock_->show();
    policy_dock_->raise();
    cycle_->focus(policy_dock_);
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
    enable(policy_dock_ != nullptr, {ActionId::ChoosePolicy});
    for (const auto& [id, tab] : {std::pair{ActionId::ShowChat, Tab::Chat},
                                  {ActionId::ShowDocument, Tab::Document},
                                  {ActionId::ShowCompare, Tab::Compare},
                                  {ActionId::ComparePolicies, Tab::Compare}})
        enable(tabs_->isTabVisible(static_cast<int>(tab)), {id});
}

QString MainWindow::chosen_session() const
{
    const QString chosen = library_->current_session();
    return chosen.isEmpty() && facts_ && facts_->saved ? facts_->name : chosen;
}

QString MainWindow::usual_or(const QString& chosen) const
{
    return chosen.isEmpty() ? places_.models_folder : chosen;
}

// ---- actions

void MainWindow::on(ActionId id, std::function<void()> what)
{
    connect((*actions_)[id], &QAction::triggered, this, [what = std::move(what)] { what(); });
}

void MainWindow::connect_file_actions()
{
    on(ActionId::NewSession, [this] { Q_EMIT new_session_wanted(true); });
    on(ActionId::NewIncognito, [this] { Q_EMIT new_session_wanted(false); });
    on(ActionId::OpenFiles, [this] { ask_for_files(); });
    on(ActionId::ImportSession, [this] { ask_for_import(); });
    on(ActionId::ExportSession, [this] { ask_where_to_export(chosen_session()); });
    on(ActionId::ShowSettings, [this] { show_settings(); });
    on(ActionId::Quit, [this] { close(); });
    connect(model_bar_, &ModelBar::other_model_wanted, this, &MainWindow::ask_for_model);
    connect(model_bar_, &ModelBar::model_wanted, this, [this](const QString& path) {
        ModelChoiceRequest request = preferences_.model;
        request.model = path;
        change_model(request);
    });
    connect(model_bar_, &ModelBar::default_wanted, this, &MainWindow::make_default);
    connect(model_bar_, &ModelBar::device_wanted, this, [this](const QString& device) {
        ModelChoiceRequest request = preferences_.model;
        request.device = device;
        change_model(request);
    });
}

void MainWindow::connect_session_actions()
{
    on(ActionId::AskQuestion, [this] {
        show_tab(Tab::Chat);
        Q_EMIT question_wanted();
    });
    on(ActionId::Stop, [this] { Q_EMIT stop_wanted(); });
    on(ActionId::Regenerate, [this] { Q_EMIT regenerate_wanted(); });
    on(ActionId::Undo, [this] { Q_EMIT undo_wanted(); });
    on(ActionId::GoOn, [this] { Q_EMIT open_session_wanted(library_->current_session()); });
    on(ActionId::Rename, [this] { library_->rename_current(); });
    on(ActionId::Duplicate, [this] { duplicate(chosen_session()); });
    on(ActionId::Remove, [this] { library_->remove(library_->current_session()); });
    on(ActionId::UndoRemoval, [this] { library_->undo_removal(); });
    connect(status_line_, &StatusLine::cancel_wanted, this, &MainWindow::stop_wanted);
}

void MainWindow::connect_view_actions()
{
    on(ActionId::ShowChat, [this] { show_tab(Tab::Chat); });
    on(ActionId::ShowDocument, [this] { show_tab(Tab::Document); });
    on(ActionId::ShowCompare, [this] { show_tab(Tab::Compare); });
    on(ActionId::ComparePolicies, [this] { show_tab(Tab::Compare); });
    on(ActionId::Find, [this] {
        show_tab(Tab::Document);
        Q_EMIT find_wanted();
    });
    on(ActionId::SearchLibrary, [this] {
        docks_.front()->show();
        library_->focus_search();
    });
    on(ActionId::LargerText, [this] { change_text_size(preferences_.text_percent + text_percent_step); });
    on(ActionId::SmallerText, [this] { change_text_size(preferences_.text_percent - text_percent_step); });
    on(ActionId::NormalText, [this] { change_text_size(100); });
    on(ActionId::FullScreen, [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
    on(ActionId::NextArea, [this] { cycle_->go(1); });
    on(ActionId::PreviousArea, [this] { cycle_->go(-1); });
    on(ActionId::ResetLayout, [this] { reset_layout(); });
    on(ActionId::ChoosePolicy, [this] { focus_policy(); });
    on(ActionId::ExportMap, [this] { Q_EMIT map_export_wanted(); });
}

void MainWindow::connect_help_actions()
{
    on(ActionId::CommandPalette, [this] {
        if (!palette_) palette_ = new CommandPalette(*actions_, this);
        palette_->begin();
    });
    on(ActionId::KeyboardHelp, [this] { show_dialog(new KeyboardHelp(*actions_, this)); });
    on(ActionId::TakeTour, [this] { start_tour(); });
    on(ActionId::About, [this] { show_about(AboutPage::Program); });
    on(ActionId::Privacy, [this] { show_about(AboutPage::Privacy); });
}

void MainWindow::connect_library()
{
    connect(library_, &LibraryView::open_wanted, this, &MainWindow::open_session_wanted);
    connect(library_, &LibraryView::new_session_wanted, this, &MainWindow::open_paths);
    connect(library_, &LibraryView::files_dropped, this, &MainWindow::open_paths);
    connect(library_, &LibraryView::open_files_wanted, this, &MainWindow::ask_for_files);
    connect(library_, &LibraryView::rename_wanted, this, &MainWindow::rename_wanted);
    connect(library_, &LibraryView::remove_wanted, this, &MainWindow::remove_wanted);
    connect(library_, &LibraryView::export_wanted, this, &MainWindow::ask_where_to_export);
    connect(library_, &LibraryView::import_wanted, this, &MainWindow::ask_for_import);
    connect(library_, &LibraryView::duplicate_wanted, this, &MainWindow::duplicate);
    connect(library_, &LibraryView::hit_activated, this, &MainWindow::hit_wanted);
    connect(library_, &LibraryView::current_changed, this, &MainWindow::update_actions);
    connect(library_, &LibraryView::failed, this,
            [this](const Failure& failure) { tell(MessageBar::Kind::Failure, failure.sentence); });
}

// ---- files, models and sessions

void MainWindow::open_paths(const QStringList& paths)
{
    QStringList documents;
    for (const QString& path : paths) {
        switch (kind_of(path)) {
        case FileKind::Document:
            documents.append(path);
            break;
        case FileKind::Export:
            Q_EMIT import_wanted(path);
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
        case FileKind::Nothing:
            tell(MessageBar::Kind::Failure,
                 tr("%1: there is no such file, nor a folder with models in it; check its name.").arg(path));
        }
    }
    if (documents.isEmpty()) return;
    for (const QString& document : documents)
        store_.add_recent_file(document);
    update_recent_files();
    Q_EMIT read_wanted(documents);
}

void MainWindow::update_recent_files()
{
    recent_->clear();
    for (const QString& file : store_.recent_files()) {
        QAction* action = recent_->addAction(QFileInfo(file).fileName().replace(u'&', QStringLiteral("&&")));
        action->setStatusTip(tr("Read %1 in a new session").arg(QDir::toNativeSeparators(file)));
        action->setToolTip(file);
        connect(action, &QAction::triggered, this, [this, file] { open_paths({file}); });
    }
    recent_->menuAction()->setEnabled(!recent_->isEmpty());
    if (recent_->isEmpty()) return;
    recent_->addSeparator();
    QAction* clear = recent_->addAction(tr("&Forget these"));
    clear->setStatusTip(tr("Forget which files were opened; what was read of them stays"));
    connect(clear, &QAction::triggered, this, [this] {
        store_.clear_recent_files();
        update_recent_files();
    });
}

void MainWindow::ask_for_files()
{
    const QStringList recent = store_.recent_files();
    const QString folder = recent.isEmpty() ? QDir::homePath() : QFileInfo(recent.first()).path();
    const QString filter =
        tr("Documents (%1)").arg(document_patterns()) + QStringLiteral(";;") + tr("All files (*)");
    const QStringList files = QFileDialog::getOpenFileNames(this, tr("Open documents"), folder, filter);
    if (!files.isEmpty()) open_paths(files);
}

void MainWindow::ask_for_model()
{
    const QString file = QFileDialog::getOpenFileName(
        this, tr("Choose a model"), usual_or(preferences_.models_folder), tr("Models (*.gguf config.json)"));
    if (file.isEmpty()) return;
    const QFileInfo info(file);
    ModelChoiceRequest request = preferences_.model;
    request.model =
        info.fileName() == QStringLiteral("config.json") ? info.path() : file; // the folder is the model
    change_model(request);
}

void MainWindow::ask_for_import()
{
    const QString file = QFileDialog::getOpenFileName(this, tr("Import a session"), QDir::homePath(),
                                                      tr("Exported sessions (*.palimpsest);;All files (*)"));
    if (!file.isEmpty()) Q_EMIT import_wanted(file);
}

void MainWindow::ask_where_to_export(const QString& session)
{
    if (session.isEmpty()) return;
    QString name = session;
    name.replace(u'/', u'_');
    // Never overwrites a file: the engine refuses and its message says so.
    const QString file = QFileDialog::getSaveFileName(
        this, tr("Export “%1”").arg(session), QDir::home().filePath(name + QStringLiteral(".palimpsest")),
        tr("Exported sessions (*.palimpsest)"), nullptr, QFileDialog::DontConfirmOverwrite);
    if (!file.isEmpty()) Q_EMIT export_wanted(session, file);
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

// Sets the default in config.json, which the command line shares, and clears the window's own choice.
void MainWindow::make_default(const QString& model)
{
    try {
        storage::set_default(model.toStdString());
    } catch (const Error& error) {
        return tell(MessageBar::Kind::Failure, window_sentence(error));
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
    model_bar_->set_choice(preferences.model, usual_or(preferences.models_folder));
    Q_EMIT preferences_changed(preferences);
}

void MainWindow::change_text_size(int percent)
{
    Preferences changed = preferences_;
    changed.text_percent = std::clamp(percent, least_text_percent, most_text_percent);
    change_preferences(changed);
}

void MainWindow::show_settings()
{
    const SettingsFacts facts{
        .usual_models_folder = places_.models_folder,
        .usual_database = places_.database,
        .languages = places_.languages,
        .places = stored_places(places_.database, store_.file(), usual_or(preferences_.models_folder))};
    auto* dialog = new SettingsDialog(preferences_, facts, this);
    connect(dialog, &SettingsDialog::empty_wanted, this, &MainWindow::empty_wanted);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { change_preferences(dialog->preferences()); });
    show_dialog(dialog);
}

void MainWindow::show_about(AboutPage page)
{
    show_dialog(new AboutDialog(
        places_.version, stored_places(places_.database, store_.file(), usual_or(preferences_.models_folder)), page,
        this));
}

void MainWindow::start_tour()
{
    if (!tour_) build_tour();
    store_.set_tour_taken();
    tour_->begin();
}

void MainWindow::build_tour()
{
    const auto dock = [this](const char* name) -> TourArea {
        auto* found = findChild<QDockWidget*>(QLatin1String(name));
        if (!found) return {};
        return {.find = [found] { return found->visibleRegion().isEmpty() ? nullptr : found; },
                .show =
                    [found] {
                        found->show();
                        found->raise();
                    }};
    };
    const auto tab = [this](Tab which) -> TourArea {
        const int index = static_cast<int>(which);
        if (!tabs_->isTabVisible(index)) return {};
        return {.find = [this, index] { return tabs_->currentIndex() == index ? tabs_ : nullptr; },
                .show = [this, index] { tabs_->setCurrentIndex(index); }};
    };
    tour_ = new Tour(this, sample_tour({.library = dock("library"),
                                        .chat = tab(Tab::Chat),
                                        .document = tab(Tab::Document),
                                        .map = dock("map"),
                                        .memory = dock("memory"),
                                        .policy = dock("policy"),
                                        .has_sample = !places_.sample.isEmpty(),
                                        .read_sample = [this] { Q_EMIT read_wanted({places_.sample}); },
                                        .ask = [this](const QString& text) { Q_EMIT ask_wanted(text); }}));
    middle_->insertWidget(middle_->indexOf(tabs_), tour_);
    connect(tabs_, &QTabWidget::currentChanged, tour_, &Tour::refresh_area);
    for (const QDockWidget* area : docks_)
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

// Asks for confirmation before unsaved turns are lost.
void MainWindow::ask_to_leave()
{
    if (findChild<QMessageBox*>(QStringLiteral("leave"))) return;
    auto* question = new QMessageBox(QMessageBox::Warning, tr("Close Palimpsest"), facts_->not_stored->sentence,
                                     QMessageBox::Cancel, this);
    question->setObjectName(QStringLiteral("leave"));
    question->setAttribute(Qt::WA_DeleteOnClose);
    const QPushButton* leave_it = question->addButton(tr("Close without saving"), QMessageBox::DestructiveRole);
    question->setDefaultButton(QMessageBox::Cancel);
    connect(leave_it, &QPushButton::clicked, this, &MainWindow::leave);
    question->open();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (facts_ && facts_->not_stored && !leaves_) {
        event->ignore();
        return ask_to_leave();
    }
    library_->commit_removals();
    store_.set_geometry(saveGeometry());
    store_.set_layout(saveState(layout_version));
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
            bar->setAccessibleName(tr("Areas in one place")); // Qt creates a tab bar when docks are tabbed
    if (event->type() == QEvent::WindowStateChange) (*actions_)[ActionId::FullScreen]->setChecked(isFullScreen());
    if (event->type() == QEvent::Paint && !std::exchange(painted_, true))
        QMetaObject::invokeMethod(this, &MainWindow::first_painted, Qt::QueuedConnection);
    return handled;
}

} // namespace palimpsest::ui
