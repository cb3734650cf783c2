// The one thread that computes: a queue of commands, obeyed in order, each of which can be taken back or stopped.
//
// Lives on the window's thread, where every function returns at once and every signal arrives. What is told while
// it computes is coalesced: frame_changed comes once until frame() was called, whatever happened in between.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>
#include <memory>
#include <optional>

#include "engine/model/model.h"
#include "engine/session/session_options.h"
#include "ui/engine/command_queue.h"
#include "ui/engine/frame.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

struct ModelChoiceWish {
    QString model{}; // path or name; empty: the shipped one
    QString device = QStringLiteral("auto");
    int threads = 0; // 0: as many as the machine has cores
};

struct NewSession {
    QString name{};                            // empty: after the first document, or the date
    QString policy = QStringLiteral("treekv"); // as --policy takes it
    QString budget{};                          // as --budget takes it; empty: the default
    int chunk = 512;
    QString system{};  // the system prompt; empty: none
    bool saved = true; // false: incognito
};

// One sentence that says what is wrong and what to do (kernels/base/error.h).
struct Failure {
    QString code, sentence;
    bool with_model = false; // it is about the model, and a session would have to be opened again
};

class EngineThread : public QObject {
    Q_OBJECT
public:
    // `database`: empty for the user's own. It is opened by the first command.
    explicit EngineThread(const QString& database, QObject* parent = nullptr);
    // Stops what runs, does what must not be lost (removals, names), and waits until what the session has is saved:
    // hide the window first.
    ~EngineThread() override;

    const QString& database() const;
    std::shared_ptr<const engine::Model> model() const; // what is loaded, or null
    bool has_place_for_system() const;    // in the chat template of what is loaded, for a system prompt
    std::shared_ptr<const Frame> frame(); // the newest; from then on frame_changed comes again

    // ---- commands; each returns its number, for cancel
    CommandId load_model(const ModelChoiceWish& wish);
    CommandId begin_session(const NewSession& wish, const QStringList& files = {});
    // A document that was read in part is read on. Where its model is gone there is its text
    // (SessionFacts::text_only). What cannot be opened or begun leaves open what was.
    CommandId open_session(const QString& name);
    CommandId close_session();
    CommandId read_files(const QStringList& files); // into the open session
    CommandId read_on();                            // a document whose reading was stopped
    // In the open session when it is their turn, or else in a new one.
    CommandId read_text(const QString& title, const QString& text, const NewSession& otherwise = {});
    CommandId ask(const QString& text, const NewSession& otherwise = {});
    CommandId regenerate();
    CommandId branch(int64_t message, const QString& text); // a new session up to before that question, asked anew
    CommandId undo();
    CommandId set_system(const QString& system); // of the open session, which nothing was read into yet
    CommandId store_turns();                     // those that could not be stored (SessionFacts::not_stored)
    CommandId pin(StreamRange range, const QString& label);
    CommandId unpin(StreamRange range);
    CommandId change_policy(const NewSession& wish,
                            bool from_the_start); // from the start: a new session reads the same documents
    CommandId export_session(const QString& name, const QString& file);
    CommandId import_session(const QString& file);
    CommandId rename_session(const QString& name, const QString& to);
    CommandId fork_session(const QString& name, const QString& to);
    CommandId remove_session(const QString& name); // for good
    // Anything else on the thread, in its turn, with the open session's engine or the model (compare).
    struct Tools;
    CommandId run(const QString& what, std::function<void(Tools&)> work);

    void stop();               // what runs now; what waits goes on
    void cancel(CommandId id); // wherever it is
    void cancel_all();
    bool is_idle() const;

    void set_sampling(const engine::SamplerOptions& sampling, int max_tokens);

Q_SIGNALS:
    void frame_changed();
    void model_changed(const QString& name, const QString& device);                  // empty: there is none
    void session_changed(std::shared_ptr<const palimpsest::ui::SessionFacts> facts); // null: none is open
    void library_changed(); // sessions or documents came, went, or changed their names
    void question_queued(quint64 id, const QString& text);
    void question_begun(quint64 id, const QString& text); // empty: the last one is answered again
    void answer_finished(quint64 id, const palimpsest::ui::Turn& answer);
    void finished(quint64 id, bool cancelled);
    void failed(quint64 id, const palimpsest::ui::Failure& failure);
    void noted(const QString& sentence);
    void device_lost(const QString& device);
    void reading_finished(const QString& what, bool complete); // false: stopped, and it can be read on

private:
    class Worker;
    std::unique_ptr<Worker> worker_;
};

} // namespace palimpsest::ui
