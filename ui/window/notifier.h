// Tells that a long job has ended to someone who is looking elsewhere.
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

    // While something runs the program has a symbol in the tray, if the desktop has one.
    void set_running(bool runs, const QString& what);
    // Only if the window is not the active one: a notification, or else the window asks for attention.
    void tell(const QString& title, const QString& text);

Q_SIGNALS:
    void told(const QString& title, const QString& text);
    void raise_wanted();

private:
    QSystemTrayIcon* tray();
    void leave_tray();

    QWidget* window_;
    QSystemTrayIcon* tray_ = nullptr; // made when it is first needed
    QTimer* stay_;                    // a message outlives its job by some seconds
    bool runs_ = false;
};

} // namespace palimpsest::ui
