// Asks at the start what becomes of a damaged database: a backup takes its place, or what can be read of it.
#pragma once

#include <QDialog>
#include <QString>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "storage/file_state.h"
#include "storage/rescue.h"
#include "storage/restoring.h"

class QCommandLinkButton;
class QLabel;
class QListWidget;
class QProgressBar;
class QPushButton;
class QThread;

namespace palimpsest::ui {

// Looks for damage on another thread while the event loop runs, and changes nothing: an older version is migrated
// when the window is there. Returns the sentence of the error if the database is damaged; otherwise an empty one,
// also if it is not there or cannot be opened for another reason.
QString damage_of(const std::filesystem::path& database);

class DamageQuestion : public QDialog {
    Q_OBJECT
public:
    // `damage`: what is wrong with it. Is accepted when the program can start with another database in its place,
    // which is made on another thread, and rejected to quit.
    DamageQuestion(const std::filesystem::path& database, const QString& damage, QWidget* parent = nullptr);
    ~DamageQuestion() override; // stops what runs and waits for it

    // Quits; if the damaged database is replaced meanwhile, what is lost is shown first.
    void reject() override;
    void leave(); // quits without showing anything: the list of what is lost is kept in a file

Q_SIGNALS:
    void progressed(int percent); // of the rescue that runs

private:
    struct Outcome {
        std::optional<storage::Backup> backup{};
        std::optional<storage::Restored> restored{};
        std::optional<storage::Rescued> rescued{};
        bool is_replaced = false; // by another program, meanwhile; then nothing is done
        QString failure{};
    };
    using Work = std::function<void(Outcome&)>;
    using Next = void (DamageQuestion::*)(const Outcome&);

    void run(const Work& work, Next next);
    void run_replacement(const Work& work);
    Work rescuing(storage::RescueMode mode);
    void count_rescuable();
    void show_percentage();
    void when_idle(const std::function<void()>& what);
    void take_work_end();
    void offer_backup(const Outcome& outcome);
    void offer_rescue(const Outcome& outcome);
    void choose_backup();
    void choose_rescue();
    void cancel();
    void show_working(const QString& what);
    void ask();
    void ask_again();
    void end(const Outcome& outcome);
    void show_end(const QString& text);

    std::filesystem::path database_;
    std::optional<storage::FileState> damaged_; // how the file was when it was found to be damaged
    std::optional<storage::Backup> backup_;
    QString question_;
    QLabel* text_;
    QCommandLinkButton* restore_;
    QCommandLinkButton* rescue_;
    QProgressBar* progress_;
    QListWidget* losses_;
    QPushButton* cancel_;
    QPushButton* quit_;
    QPushButton* start_;
    bool is_counted_ = false; // what can be rescued
    bool is_leaving_ = false;
    std::stop_source stop_;
    std::unique_ptr<QThread> thread_;
    std::shared_ptr<Outcome> outcome_;
    Next next_ = nullptr;
    std::function<void()> waiting_; // to be done when the thread has ended
};

} // namespace palimpsest::ui
