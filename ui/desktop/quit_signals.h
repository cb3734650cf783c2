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

Q_SIGNALS:
    void quit_wanted();

private:
    void take();

    QSocketNotifier notifier_;
};

} // namespace palimpsest::ui
