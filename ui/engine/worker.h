// The engine thread's implementation: executes the commands of the open session and emits the signals of
// EngineThread. Each of its members has one duty: CommandLoop runs the commands, FramePublisher publishes frames,
// LoadedModel holds the model, UserDatabase and OpenSession hold what is open, AnswerSources finds the sources of
// answers, LibraryCommands changes the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "storage/session/answer_text.h"
#include "storage/session/listener.h"
#include "storage/session/stored_session.h"
#include "ui/engine/answer_sources.h"
#include "ui/engine/command_loop.h"
#include "ui/engine/early_questions.h"
#include "ui/engine/engine_thread.h"
#include "ui/engine/frame_publisher.h"
#include "ui/engine/library_commands.h"
#include "ui/engine/loaded_model.h"
#include "ui/engine/note_progress.h"
#include "ui/engine/open_session.h"
#include "ui/engine/sampling_request.h"
#include "ui/engine/user_database.h"

namespace palimpsest::ui {

class EngineThread::Worker final : public storage::Listener {
public:
    Worker(EngineThread& owner, const QString& database);
    ~Worker() override;

    // ---- called on the window's thread
    CommandId add(Activity activity, const QString& what, std::function<void(Worker&)> work,
                  bool is_question = false);
    // `changes`: the session that the command changes; empty: none. If that session is open, the command does not
    // run in the middle of another one.
    CommandId add_library_command(std::function<void(LibraryCommands&)> work, const QString& changes = {});
    CommandId ask(const QString& text, const NewSession& otherwise);

    CommandQueue& queue() { return loop_.queue(); }
    std::shared_ptr<const Frame> take_frame() { return frames_.take(); }
    std::shared_ptr<const engine::Model> shared_model() const { return model_.shared_model(); }
    bool template_has_system_prompt() const { return model_.template_has_system_prompt(); }
    const QString& database() const { return database_.path(); }
    SamplingRequest& sampling() { return sampling_; }

    // ---- commands, called on the engine thread
    void load_model(const ModelChoiceRequest& request);
    void begin_session(const NewSession& request, const QStringList& files);
    void begin_session_about(const std::vector<int64_t>& documents, const NewSession& request);
    void open_session(const QString& name);
    void open_export(const QString& file);
    void close_session(); // throws Error if some turns cannot be stored
    void read_files(const QStringList& files);
    void read_on();
    void read_text(const QString& title, const QString& text, const NewSession& otherwise);
    void answer(const QString& text);
    void regenerate();
    void branch(int64_t message, const QString& text);
    void undo();
    void set_system(const QString& system);
    void write_notes();
    void store_turns();
    void pin(StreamRange range, const QString& label);
    void unpin(StreamRange range);
    void change_policy(const NewSession& request, bool from_the_start);
    void add_to_library(const QStringList& paths);
    void index_documents();
    void run(const std::function<void(Tools&)>& work);

private:
    // Listener: called during a computation
    void note(const Text& sentence) override;
    void progress(const storage::ReadingProgress& reading, const engine::Session& session) override;
    void message_starts(engine::Session& session) override { sources_.keep_state(session); }
    void found(const storage::Rereading& passages, storage::Store& /*store*/) override
    {
        sources_.set_found(passages);
    }
    void noted(const storage::Note& note, storage::Store& store) override;
    void device_lost(const std::string& device) override;
    std::stop_token stop() const override { return loop_.stop(); }

    void run_loop();
    void publish_after_command();
    std::shared_ptr<const SessionFacts> publish_facts();
    void publish_new_parts();
    void publish_answer();
    void answer_early(const storage::ReadingProgress& reading);
    void answer_early(storage::StoredSession& session, const EarlyQuestions::Question& question);

    void ensure_model();
    void ensure_session(const NewSession& otherwise);
    void handle_device_loss();

    void begin_and_read(const QString& name, const NewSession& request, const std::function<void()>& read);
    void discard_session();
    void replace_session(const std::function<void()>& open_another);
    void reopen_session(DetachedSession previous);
    void require_saved() const;

    void run_reading(const QString& what, const std::function<void()>& read);
    void change_and_publish(const std::function<void()>& change);

    using Generate = std::function<engine::GenerateResult(const engine::GenerateOptions&)>;
    void run_turn(const QString& question, const Generate& generate);
    engine::GenerateOptions generate_options(storage::StoredSession& session, storage::AnswerText& text);

    EngineThread& owner_;
    SamplingRequest sampling_; // guarded by its own mutex
    EarlyQuestions early_;     // likewise

    // The members below are used by the engine thread only, except where their headers say otherwise.
    CommandLoop loop_;
    FramePublisher frames_;
    LoadedModel model_;
    UserDatabase database_;
    OpenSession open_;
    AnswerSources sources_;
    LibraryCommands library_;
    size_t parts_published_ = 0;                // parts of the stream in the last published facts
    std::optional<NoteProgress> note_progress_; // while the missing notes are written

    std::jthread thread_; // last, so that it ends before the other members are destroyed
};

} // namespace palimpsest::ui
