// Sessions that were deleted a moment ago: they are gone for good only when that can no longer be undone.
#pragma once

#include <QObject>
#include <QSet>
#include <QString>
#include <QStringList>
#include <QTimer>

namespace palimpsest::ui {

class PendingRemovals : public QObject {
    Q_OBJECT
public:
    explicit PendingRemovals(int grace_ms, QObject* parent = nullptr);

    void add(const QString& session);         // starts the grace of all that wait anew
    QString undo();                           // the newest; empty: none waits
    void commit();                            // all, at once: the window closes
    void settle(const QSet<QString>& stored); // what is stored no longer is forgotten here too
    void give_up();                           // what could not be removed is shown again
    QSet<QString> hidden() const { return sent_ + QSet<QString>(waiting_.begin(), waiting_.end()); }
    QString newest() const { return waiting_.isEmpty() ? QString() : waiting_.last(); } // that can be undone

Q_SIGNALS:
    void changed();
    void remove_wanted(const QString& session);

private:
    QStringList waiting_; // the newest last
    QSet<QString> sent_;  // to be removed by now, and perhaps still there
    QTimer timer_;        // runs only while something waits
};

} // namespace palimpsest::ui
