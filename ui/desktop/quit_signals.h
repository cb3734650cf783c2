// Ctrl-C, SIGTERM and the end of the desktop close the window as a user does: what runs is stopped and saved.
#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace palimpsest::ui {

class QuitSignals : public QObject {
    Q_OBJECT
public:
    // One at a time; from then on until the process ends.
    explicit QuitSignals(QObject* parent = nullptr);

    // As a shell knows it, 130 after Ctrl-C and 143 after SIGTERM; 0: none came.
    int exit_code() const { return received_ == 0 ? 0 : 128 + received_; }

Q_SIGNALS:
    void quit_wanted();

private:
    void take();

    QSocketNotifier notifier_;
    int received_ = 0; // the first
};

} // namespace palimpsest::ui
