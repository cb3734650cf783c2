// The engine thread on a database of its own, and the helpers that its tests share.
#pragma once

#include <QObject>
#include <QTemporaryDir>
#include <memory>

#include "tests/ui/engine/engine_recorder.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

class EngineFixture : public QObject {
    Q_OBJECT

protected:
    QString book(int copies = 1) const; // path of a file with the beginning of the sample, `copies` times
    QString book_with_door() const;     // a fact, and then so much text that a small cache forgets it
    std::shared_ptr<const SessionFacts> facts() const { return told_->facts(); }
    QString failure() const { return told_->failure(); }
    void start(); // on a new database
    void start(const QString& database);
    void end() { engine_.reset(); }
    QStringList sessions_in_library();
    void change_database(const char* sql); // changes rows behind the engine's back
    bool wait_until_idle(int milliseconds = 120000) const;
    bool wait_for_share(Activity activity, double share) const;
    void begin(const QString& name, const QString& policy = QStringLiteral("treekv"), int copies = 1);

    QTemporaryDir folder_;
    std::unique_ptr<EngineThread> engine_;
    std::unique_ptr<EngineRecorder> told_; // records the engine that was started last

private:
    int number_ = 0;
};

} // namespace palimpsest::ui
