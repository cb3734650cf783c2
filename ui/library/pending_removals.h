// Sessions that were deleted a moment ago: they are gone for good only when that can no longer be undone.
//
// By number: a name may be another session's by then.
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

    void add(qint64 session);                // starts the grace of all that wait anew
    qint64 undo();                           // the newest; 0: none waits
    void commit();                           // all, at once: the window closes
    void settle(const QSet<qint64>& stored); // what is stored no longer is forgotten here too
    void give_up();                          // what could not be removed is shown again
    QSet<qint64> hidden() const { return sent_ + QSet<qint64>(waiting_.begin(), waiting_.end()); }
    qint64 newest() const { return waiting_.isEmpty() ? 0 : waiting_.last(); } // that can be undone

Q_SIGNALS:
    void changed();
    void remove_wanted(qint64 session);

private:
    QList<qint64> waiting_; // the newest last
    QSet<qint64> sent_;     // to be removed by now, and perhaps still there
    QTimer timer_;          // runs only while something waits
};

} // namespace palimpsest::ui
