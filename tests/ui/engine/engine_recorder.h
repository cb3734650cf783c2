// Records all signals of the engine thread, on the thread that created the recorder.
#pragma once

#include <QObject>
#include <QStringList>
#include <utility>
#include <vector>

#include "ui/base/utf8.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

class EngineRecorder : public QObject {
public:
    explicit EngineRecorder(EngineThread& engine)
    {
        const EngineThread* e = &engine;
        connect(e, &EngineThread::frame_changed, this, [this] { ++frames; });
        connect(e, &EngineThread::model_changed, this,
                [this](const QString& name, const QString& device) { models.emplace_back(name, device); });
        connect(e, &EngineThread::session_changed, this,
                [this](std::shared_ptr<const SessionFacts> facts) { sessions.push_back(std::move(facts)); });
        connect(e, &EngineThread::library_changed, this, [this] { ++library_changes; });
        connect(e, &EngineThread::question_queued, this, [this](quint64 id) { queued.push_back(id); });
        connect(e, &EngineThread::question_answered_early, this,
                [this](quint64 id, const EarlyReply& reply) { early.emplace_back(id, reply); });
        connect(e, &EngineThread::question_begun, this, [this](quint64 id) { begun.push_back(id); });
        connect(e, &EngineThread::answer_finished, this,
                [this](quint64, const Turn& answer) { answers.push_back(answer); });
        connect(e, &EngineThread::finished, this,
                [this](quint64 id, bool cancelled) { finished.emplace_back(id, cancelled); });
        connect(e, &EngineThread::failed, this,
                [this](quint64 id, const Failure& failure) { failures.emplace_back(id, failure); });
        connect(e, &EngineThread::noted, this, [this](const QString& sentence) { notes << sentence; });
        connect(e, &EngineThread::note_written, this,
                [this](const storage::Note& note) { written.push_back(note); });
        connect(e, &EngineThread::device_lost, this, [this](const QString& device) { lost << device; });
        connect(e, &EngineThread::reading_finished, this,
                [this](const QString& what, bool complete) { readings.emplace_back(what, complete); });
    }

    std::shared_ptr<const SessionFacts> facts() const { return sessions.empty() ? nullptr : sessions.back(); }
    QString failure() const
    {
        return failures.empty() ? QString() : text_of(name_of(failures.back().second.code));
    } // code of the newest failure

    int frames = 0, library_changes = 0;
    std::vector<std::pair<QString, QString>> models; // names and devices
    std::vector<std::shared_ptr<const SessionFacts>> sessions;
    std::vector<quint64> queued, begun; // questions
    std::vector<std::pair<quint64, EarlyReply>> early;
    std::vector<Turn> answers;
    std::vector<std::pair<quint64, bool>> finished; // ids; whether cancelled
    std::vector<std::pair<quint64, Failure>> failures;
    QStringList notes, lost;
    std::vector<storage::Note> written;
    std::vector<std::pair<QString, bool>> readings; // names; whether complete
};

} // namespace palimpsest::ui
