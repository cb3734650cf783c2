// Queue of deleted sessions: each is removed from the database only when its removal can no longer be undone.
//
// Sessions are identified by id, because another session may have the name by then.
#pragma once

#include <QList>
#include <QObject>
#include <QSet>
#include <QTimer>

namespace palimpsest::ui {

class PendingRemovals : public QObject {
    Q_OBJECT
public:
    explicit PendingRemovals(int grace_ms, QObject* parent = nullptr);

    void add(qint64 session);                      // restarts the grace period of all queued removals
    qint64 undo();                                 // cancels the newest; returns its id, 0: none was queued
    void commit();                                 // emits remove_wanted for all queued removals now
    void drop_missing(const QSet<qint64>& stored); // drops removals whose session is no longer stored
    void give_up(); // after a failure: no longer hides the sessions whose removal was emitted
    QSet<qint64> hidden() const { return sent_ + QSet<qint64>(waiting_.begin(), waiting_.end()); }
    qint64 newest() const { return waiting_.isEmpty() ? 0 : waiting_.last(); } // the one that undo() cancels

Q_SIGNALS:
    void changed();
    void remove_wanted(qint64 session);

private:
    QList<qint64> waiting_; // newest last
    QSet<qint64> sent_;     // their removal was emitted, but they may still be stored
    QTimer timer_;          // active only while removals are queued
};

} // namespace palimpsest::ui
