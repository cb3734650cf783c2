#include "ui/window/sleep_inhibitor.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusUnixFileDescriptor>
#include <utility>

namespace palimpsest::ui {

SleepInhibitor::SleepInhibitor(QObject* parent) : QObject(parent) {}

SleepInhibitor::~SleepInhibitor() = default;

void SleepInhibitor::set_wanted(bool wanted, const QString& why)
{
    if (std::exchange(wanted_, wanted) == wanted) return;
    if (wanted)
        ask(why);
    else
        lock_.reset();
}

void SleepInhibitor::ask(const QString& why)
{
    QDBusConnection bus = QDBusConnection::systemBus();
    if (!bus.isConnected()) return;
    QDBusMessage call = QDBusMessage::createMethodCall(
        QStringLiteral("org.freedesktop.login1"), QStringLiteral("/org/freedesktop/login1"),
        QStringLiteral("org.freedesktop.login1.Manager"), QStringLiteral("Inhibit"));
    call << QStringLiteral("sleep:idle") << QStringLiteral("Palimpsest") << why << QStringLiteral("block");
    auto* answer = new QDBusPendingCallWatcher(bus.asyncCall(call), this);
    connect(answer, &QDBusPendingCallWatcher::finished, this, [this, answer] {
        const QDBusPendingReply<QDBusUnixFileDescriptor> reply = *answer;
        if (wanted_ && !reply.isError()) lock_ = std::make_unique<QDBusUnixFileDescriptor>(reply.value());
        answer->deleteLater();
    });
}

} // namespace palimpsest::ui
