#include "ui/library/pending_removals.h"

#include <utility>

namespace palimpsest::ui {

PendingRemovals::PendingRemovals(int grace_ms, QObject* parent) : QObject(parent)
{
    timer_.setSingleShot(true);
    timer_.setInterval(grace_ms);
    connect(&timer_, &QTimer::timeout, this, &PendingRemovals::commit);
}

void PendingRemovals::add(qint64 session)
{
    waiting_.removeAll(session);
    waiting_.append(session);
    timer_.start();
    Q_EMIT changed();
}

qint64 PendingRemovals::undo()
{
    if (waiting_.isEmpty()) return 0;
    const qint64 last = waiting_.takeLast();
    waiting_.isEmpty() ? timer_.stop() : timer_.start();
    Q_EMIT changed();
    return last;
}

void PendingRemovals::commit()
{
    timer_.stop();
    if (waiting_.isEmpty()) return;
    for (const qint64 session : std::exchange(waiting_, {})) {
        sent_.insert(session);
        Q_EMIT remove_wanted(session);
    }
    Q_EMIT changed();
}

void PendingRemovals::drop_missing(const QSet<qint64>& stored)
{
    sent_.intersect(stored);
    waiting_.removeIf([&](qint64 session) { return !stored.contains(session); });
}

void PendingRemovals::give_up()
{
    sent_.clear();
    Q_EMIT changed();
}

} // namespace palimpsest::ui
