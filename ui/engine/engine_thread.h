// The engine thread: executes a queue of commands in order; each can be cancelled while it waits and stopped while
// it runs.
//
// Belongs to the window's thread: every function returns at once, and signals are delivered there. Views may miss
// frames: frame_changed is emitted once and then not again until frame() is called.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/session_options.h"
#include "kernels/base/error_code.h"
#include "ui/engine/command_queue.h"
#include "ui/engine/frame.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

struct ModelChoiceRequest {
    QString model{}; // path or name; empty: the shipped model
    QString device = QStringLiteral("auto");
    int threads = 0; // 0: one per core
};

struct NewSession {
    QString name{};                            // empty: named after the first document or the date
    QString policy = QStringLiteral("treekv"); // in the syntax of --policy
    QString budget{};                          // in the syntax of --budget; empty: the default
    int chunk = engine::default_chunk;
    QString snapshot = QStringLiteral("exact"); // in the syntax of --snapshot
    QString system{};                           // system prompt; empty: none
    bool saved = true;                          // false: incognito
};

// An error as the window shows it; `sentence`: the problem and the remedy (kernels/base/error.h).
struct Failure {
    ErrorCode code = ErrorCode::Internal;
    QString sentence;
    bool with_model = false; // the error is about the model: the session must be opened again
};

class EngineThread : public QObject {
    Q_OBJECT
public:
    // `database`: empty for the user's default. The first command opens it.
    explicit EngineThread(const QString& database, QObject* parent = nullptr);
    // Stops the running command, executes commands that must not be lost (such as rename and remove), and blocks
    // until the session is saved, so hide the window first.
    ~EngineThread() override;

    const QString& database() const;
    std::shared_ptr<const engine::Model> model() const; // the loaded model, or null
    bool has_place_for_system() const;    // whether the loaded model's chat template supports a system prompt
    std::shared_ptr<const Frame> frame(); // the newest; allows the next frame_changed

    // ---- commands; each returns its number for cancel()
    CommandId load_model(const ModelChoiceRequest& request);
    CommandId begin_session(const NewSession& request, const QStringList& files = {});
    // A new session that reads stored documents. The title of the first names it. REQUIRES: there is one.
    CommandId begin_session_about(const std::vector<int64_t>& documents, const NewSession& request);
    // Resumes reading a document that was read in part. If the model is missing, only the text is shown
    // (SessionFacts::text_only). If opening fails, the previous session stays open.
    CommandId open_session(const QString& name);
    CommandId close_session();
    CommandId read_files(const QStringList& files); // into the open session
    CommandId read_on();                            // resumes a reading that was stopped
    // read_text and ask: in the session that is open when the command runs, or else in a new one (`otherwise`).
    CommandId read_text(const QString& title, const QString& text, const NewSession& otherwise = {});
    CommandId ask(const QString& text, const NewSession& otherwise = {});
    CommandId regenerate();
    CommandId branch(int64_t message, const QString& text); // asks `text` in a fork from before that question
    CommandId undo();
    CommandId set_system(const QString& system); // of the open session; REQUIRES: it has read nothing yet
    CommandId write_notes();                     // the missing ones on what the open session has read
    CommandId store_turns();                     // retries to store turns (SessionFacts::not_stored)
    CommandId pin(StreamRange range, const QString& label);
    CommandId unpin(StreamRange range);
    CommandId change_policy(const NewSession& request,
                            bool from_the_start); // true: reads the same documents in a new session
    CommandId export_session(const QString& name, const QString& file);
    CommandId import_session(const QString& file); // or finds the one that was imported from it
    CommandId open_export(const QString& file);    // the same, and opens it
    CommandId rename_session(const QString& name, const QString& to);
    CommandId fork_session(const QString& name, const QString& to);
    CommandId remove_session(const QString& name); // permanently
    // Stores documents, also all in these folders, without reading them; they stay until stop_keeping.
    CommandId add_to_library(const QStringList& paths);
    CommandId keep(const std::vector<int64_t>& documents);         // in the library
    CommandId stop_keeping(const std::vector<int64_t>& documents); // deletes permanently what no session has
    CommandId index_documents(); // those that lack passages; afterwards emits library_changed
    // Runs other work as a command on the engine thread, such as a comparison; Tools is what it can use there.
    struct Tools;
    CommandId run(const QString& what, std::function<void(Tools&)> work);

    void stop();               // only the running command; waiting ones continue
    void cancel(CommandId id); // waiting or running
    void cancel_all();
    bool is_idle() const;

    void set_sampling(const engine::SamplerOptions& sampling, int max_tokens);
    void set_rereads(bool rereads); // whether questions read passages again (RereadMode::Auto)
    // Whether their answers are then written from the sentences found alone (AnswerFrom::Auto), or from the cache,
    // too.
    void set_answers_from_sentences(bool from_sentences);
    void
    set_writes_notes(bool writes_notes); // whether notes are written while documents are read, from the next on

Q_SIGNALS:
    void frame_changed();
    void model_changed(const QString& name, const QString& device);                  // empty: none is loaded
    void session_changed(std::shared_ptr<const palimpsest::ui::SessionFacts> facts); // null: no session is open
    void library_changed(); // sessions or documents were added, removed or renamed
    void question_queued(quint64 id, const QString& text);
    // A question that waits while a document is read was answered from what was read so far. It still waits.
    void question_answered_early(quint64 id, const EarlyReply& reply);
    void question_begun(quint64 id, const QString& text); // empty: the last question is answered again
    void answer_finished(quint64 id, const palimpsest::ui::Turn& answer);
    void finished(quint64 id, bool cancelled);
    void failed(quint64 id, const palimpsest::ui::Failure& failure);
    void noted(const QString& sentence);
    void note_written(const palimpsest::storage::Note& note); // on a document of the open session
    void device_lost(const QString& device);
    void reading_finished(const QString& what, bool complete); // false: stopped, and can be resumed

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace palimpsest::ui
