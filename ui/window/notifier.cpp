#include "ui/window/notifier.h"

#include <QApplication>
#include <QSystemTrayIcon>
#include <QTimer>
#include <QWidget>
#include <utility>

#include "ui/base/icon.h"

namespace palimpsest::ui {
namespace {

constexpr int stay_ms = 10'000;

} // namespace

Notifier::Notifier(QWidget* window) : QObject(window), window_(window), stay_(new QTimer(this))
{
    stay_->setSingleShot(true);
    stay_->setInterval(stay_ms);
    connect(stay_, &QTimer::timeout, this, &Notifier::leave_tray);
}

QSystemTrayIcon* Notifier::tray()
{
    if (tray_ || !QSystemTrayIcon::isSystemTrayAvailable()) return tray_;
    tray_ = new QSystemTrayIcon(program_icon(), this);
    connect(tray_, &QSystemTrayIcon::activated, this, &Notifier::raise_wanted);
    connect(tray_, &QSystemTrayIcon::messageClicked, this, &Notifier::raise_wanted);
    return tray_;
}

void Notifier::set_running(bool runs, const QString& what)
{
    const bool changed = std::exchange(runs_, runs) != runs;
    if (runs) {
        stay_->stop();
        if (!tray()) return;
        if (changed) tray_->show();
        if (tray_->toolTip() != what) tray_->setToolTip(what);
    } else if (changed && !stay_->isActive()) {
        leave_tray();
    }
}

void Notifier::leave_tray()
{
    if (tray_ && !runs_) tray_->hide();
}

void Notifier::tell(const QString& title, const QString& text)
{
    if (window_->isActiveWindow()) return;
    QApplication::alert(window_);
    if (tray() && QSystemTrayIcon::supportsMessages()) {
        tray_->show();
        tray_->showMessage(title, text, program_icon(), stay_ms);
        stay_->start();
    }
    Q_EMIT told(title, text);
}

} // namespace palimpsest::ui
