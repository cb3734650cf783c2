// Turns SIGINT, SIGTERM and SIGHUP into quit_wanted, so that the window closes in order: the running command is
// stopped and the session saved.
#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace palimpsest::ui {

class QuitSignals : public QObject {
    Q_OBJECT
public:
    // At most one instance; its handlers stay installed until the process ends.
    explicit QuitSignals(QObject* parent = nullptr);

    // Shell convention: 130 after SIGINT, 143 after SIGTERM; 0: no signal was received.
    int exit_code() const { return received_ == 0 ? 0 : 128 + received_; }

Q_SIGNALS:
    void quit_wanted();

private:
    void take();

    QSocketNotifier notifier_;
    int received_ = 0; // the first signal
};

} // namespace palimpsest::ui
