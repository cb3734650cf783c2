// Connects the window with the engine thread: requests become commands, and frames and session facts are shown.
//
// Frames are fetched only after a change and at most 30 times a second.
#pragma once

#include <QHash>
#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>

#include "ui/engine/engine_thread.h"
#include "ui/window/main_window.h"
#include "ui/window/single_instance.h"

namespace palimpsest::ui {

class Notifier;
class SleepInhibitor;

class Workbench : public QObject {
    Q_OBJECT
public:
    // The arguments must outlive this object.
    Workbench(MainWindow& window, EngineThread& engine, PreferenceStore& store);

    MainWindow& window() { return window_; }
    EngineThread& engine() { return engine_; }
    // The frame that is shown; never null.
    const std::shared_ptr<const Frame>& frame() const { return frame_; }
    const std::shared_ptr<const SessionFacts>& session() const { return facts_; } // null: no session is open

    // Loads the model in the background, opens the requested files or else the last session, and offers the tour on
    // the first start.
    void begin(const StartRequest& request);
    void take(const StartRequest& request);         // a request that a second instance has passed on
    void ask(const QString& text);                  // in the open session, or in a new one
    void set_next_system(const QString& system);    // system prompt of the next session, while none is open
    NewSession new_session() const;                 // the settings of a session that begins now
    CommandId begin_session_about(qint64 document); // a new one, which reads what is stored

Q_SIGNALS:
    // For Areas, which shows them.
    void frame_shown(std::shared_ptr<const palimpsest::ui::Frame> frame);
    void session_shown(std::shared_ptr<const palimpsest::ui::SessionFacts> facts);

private:
    void connect_requests();
    void connect_engine();
    void show_frame();
    void show_session(std::shared_ptr<const SessionFacts> facts);
    void show_session_error(const SessionFacts* before);
    void show_failure(CommandId id, const Failure& failure);
    MessageBar::Action retry();
    MessageBar::Action read_with_this_model();
    void notify_reading_ended(const QString& what, bool complete);
    void read(const QStringList& files);
    void begin_session(bool saved);
    void apply(const Preferences& preferences);
    void empty();
    void open_last_session();

    MainWindow& window_;
    EngineThread& engine_;
    PreferenceStore& store_;
    Notifier* notifier_;
    SleepInhibitor* inhibitor_;
    QTimer pace_; // active only from a change until its frame is shown
    std::shared_ptr<const Frame> frame_ = std::make_shared<Frame>();
    std::shared_ptr<const SessionFacts> facts_;
    QSet<CommandId> removals_;
    QString told_meanwhile_;             // the newest failure shown while turns waited to be stored
    std::optional<QString> next_system_; // nullopt: that of the preferences
    bool begun_ = false;
};

} // namespace palimpsest::ui
