// Notifies the user when a long job ends while the window is inactive.
#pragma once

#include <QObject>

class QSystemTrayIcon;
class QTimer;
class QWidget;

namespace palimpsest::ui {

class Notifier : public QObject {
    Q_OBJECT
public:
    explicit Notifier(QWidget* window);

    // Shows a tray icon while a job runs, if the desktop has a system tray.
    void set_running(bool runs, const QString& what);
    // If the window is inactive, shows a notification and lets the window request attention.
    void tell(const QString& title, const QString& text);

Q_SIGNALS:
    void told(const QString& title, const QString& text);
    void raise_wanted();

private:
    QSystemTrayIcon* tray();
    void leave_tray();

    QWidget* window_;
    QSystemTrayIcon* tray_ = nullptr; // created on first use
    QTimer* stay_; // keeps the tray icon, and so the notification, for some seconds after the job
    bool runs_ = false;
};

} // namespace palimpsest::ui
