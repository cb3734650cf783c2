#include "ui/library/pending_removals.h"

#include <utility>

namespace palimpsest::ui {

PendingRemovals::PendingRemovals(int grace_ms, QObject* parent) : QObject(parent)
{
    timer_.setSingleShot(true);
    timer_.setInterval(grace_ms);
    connect(&timer_, &QTimer::timeout, this, &PendingRemovals::commit);
}

void PendingRemovals::add(const QString& session)
{
    waiting_.removeAll(session);
    waiting_.append(session);
    timer_.start();
    Q_EMIT changed();
}

QString PendingRemovals::undo()
{
    if (waiting_.isEmpty()) return {};
    const QString last = waiting_.takeLast();
    waiting_.isEmpty() ? timer_.stop() : timer_.start();
    Q_EMIT changed();
    return last;
}

void PendingRemovals::commit()
{
    timer_.stop();
    if (waiting_.isEmpty()) return;
    for (const QString& session : std::exchange(waiting_, {})) {
        sent_.insert(session);
        Q_EMIT remove_wanted(session);
    }
    Q_EMIT changed();
}

void PendingRemovals::settle(const QSet<QString>& stored)
{
    sent_.intersect(stored);
}

void PendingRemovals::give_up()
{
    sent_.clear();
    Q_EMIT changed();
}

} // namespace palimpsest::ui
