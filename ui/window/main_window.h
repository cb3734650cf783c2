// The main window: menus, tool bar, docks, tabs and status line. It shows the state that it is given and emits a
// signal for each request of the user; it does not know the engine.
#pragma once

#include <QMainWindow>
#include <memory>

#include "ui/engine/frame.h"
#include "ui/engine/session_facts.h"
#include "ui/library/library_view.h"
#include "ui/window/actions.h"
#include "ui/window/message_bar.h"
#include "ui/window/preferences.h"
#include "ui/window/window_areas.h"
#include "ui/window/window_places.h"

namespace palimpsest::ui {

class AreaCycle;
class AreaTabs;
class FileDialogs;
class ModelBar;
class RecentMenu;
class StatusLine;
class Tour;
class WindowDialogs;
class WindowDocks;
enum class TourTask;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    MainWindow(const WindowAreas& areas, const WindowPlaces& places, PreferenceStore& store,
               QWidget* parent = nullptr);
    ~MainWindow() override;

    Actions& actions() { return *actions_; }
    LibraryView& library() { return *library_; }
    const Preferences& preferences() const { return preferences_; }
    const WindowPlaces& places() const { return places_; }

    // ---- what is shown
    void set_frame(const Frame& frame);
    void set_session(std::shared_ptr<const SessionFacts> facts); // null: no session is open
    void set_model(const QString& name, const QString& device);
    void tell(MessageBar::Kind kind, const QString& sentence, const MessageBar::Action& action = {});
    void withdraw(const QString& sentence); // hides the message once it is no longer true
    void show_tab(Tab tab);
    void focus_policy();
    void bring_to_front();
    void leave(); // closes the window without asking; close() asks if there are turns that could not be saved

    // ---- requests by the user or by a second instance
    void open_paths(const QStringList& paths); // documents, models, model folders, exported sessions
    void change_preferences(const Preferences& preferences);
    void start_tour(); // also stores that the tour was taken, so that it does not start by itself again
    void complete_task(TourTask task);
    Tour* tour() const { return tour_; } // null until it is first started

Q_SIGNALS:
    void read_wanted(const QStringList& files); // read them into a new session
    void new_session_wanted(bool saved);
    void open_session_wanted(const QString& name);
    void rename_wanted(const QString& name, const QString& to);
    void remove_wanted(const QString& name); // delete the session permanently
    void empty_wanted();                     // delete all stored data permanently
    void duplicate_wanted(const QString& name, const QString& to);
    void export_wanted(const QString& name, const QString& file);
    void import_wanted(const QString& file);
    void export_open_wanted(const QString& file);                               // an exported session
    void hit_wanted(const palimpsest::ui::SearchHit& hit, const QString& text); // show the hit in its text
    void session_about_wanted(qint64 document); // a new one, which reads what is stored
    void add_to_library_wanted(const QStringList& folders);
    void keep_wanted(const std::vector<int64_t>& documents);
    void stop_keeping_wanted(const std::vector<int64_t>& documents); // delete them if no session has them
    void index_wanted();                                             // index the documents that are not indexed yet
    void model_wanted(const palimpsest::ui::ModelChoiceRequest& request);
    void stop_wanted();
    void regenerate_wanted();
    void undo_wanted();
    void ask_wanted(const QString& text);
    void question_wanted(); // focus the question field
    void find_wanted();     // focus the document's search field
    void map_export_wanted();
    void preferences_changed(const palimpsest::ui::Preferences& preferences);
    void first_painted();
    void closing(); // the window closes now; connected slots may stop work but must not block

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    bool event(QEvent* event) override;

private:
    void build(const WindowAreas& areas);
    void build_menus();
    void build_tour();
    void connect_file_actions();
    void connect_session_actions();
    void connect_view_actions();
    void connect_help_actions();
    void connect_library();
    void update_actions();
    void update_title();
    QString chosen_session() const; // the session selected in the library, otherwise the open one
    void ask_for_documents();
    void duplicate(const QString& session);
    void change_model(const ModelChoiceRequest& request);
    void make_default(const QString& model);
    void change_text_size(int percent);

    WindowPlaces places_;
    PreferenceStore& store_;
    Preferences preferences_;
    Actions* actions_;
    AreaCycle* cycle_;
    LibraryView* library_;
    ModelBar* model_bar_;
    StatusLine* status_line_;
    MessageBar* messages_;
    FileDialogs* files_;
    WindowDialogs* dialogs_;
    AreaTabs* tabs_ = nullptr;
    WindowDocks* docks_ = nullptr;
    RecentMenu* recent_ = nullptr;
    Tour* tour_ = nullptr;
    std::shared_ptr<const SessionFacts> facts_;
    Activity activity_ = Activity::Idle;
    bool painted_ = false, leaves_ = false;
};

} // namespace palimpsest::ui
