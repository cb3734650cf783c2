// The engine thread's implementation: executes commands, publishes frames and emits the signals of EngineThread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "kernels/base/error.h"
#include "storage/session/answer_text.h"
#include "storage/session/listener.h"
#include "storage/session/session_choice.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/command_queue.h"
#include "ui/engine/engine_thread.h"
#include "ui/engine/frame_exchange.h"

namespace palimpsest::ui {

class EngineThread::Worker final : public storage::Listener {
public:
    Worker(EngineThread& owner, const QString& database);
    ~Worker() override;

    using Work = std::function<void(Worker&)>;
    CommandId add(Activity activity, const QString& what, Work work);
    // Adds a command that needs only the database: it may run in the middle of another command, unless it changes
    // the open session; `changes` names the session it changes.
    CommandId add_short(Work work, const QString& changes = {});
    CommandId ask(const QString& text, const NewSession& otherwise);

    CommandQueue& queue() { return queue_; }
    FrameExchange& frames() { return frames_; }
    const QString& database() const { return database_; }
    std::shared_ptr<const engine::Model> shared_model();
    bool has_place_for_system();
    void set_sampling(const engine::SamplerOptions& sampling, int max_tokens);

    // ---- called on the engine thread
    void load_model(const ModelChoiceRequest& wish);
    void begin_session(const NewSession& wish, const QStringList& files);
    void need_session(const NewSession& otherwise);
    void open_session(const QString& name);
    void close_session(); // throws Error if some turns cannot be stored
    void read_files(const QStringList& files);
    void read_on();
    void read_text(const QString& title, const QString& text, const NewSession& otherwise);
    void answer(const QString& text);
    void regenerate();
    void branch(int64_t message, const QString& text);
    void undo();
    void set_system(const QString& system);
    void store_turns();
    void pin(StreamRange range, const QString& label);
    void unpin(StreamRange range);
    void change_policy(const NewSession& wish, bool from_the_start);
    void export_session(const QString& name, const QString& file);
    void import_session(const QString& file);
    void rename_session(const QString& name, const QString& to);
    void fork_session(const QString& name, const QString& to);
    void remove_session(const QString& name);
    void run(const std::function<void(Tools&)>& work);

private:
    using Clock = std::chrono::steady_clock;
    // A session whose model is unavailable.
    struct TextOnly {
        storage::SessionInfo session;
        Error why;
    };
    // The previously open session, with everything needed to open it again.
    struct Left {
        std::optional<int64_t> id{}; // nullopt: no session was open
        bool is_saved = true;
        std::unique_ptr<storage::Store> memory{};
        int64_t memory_number = 0;
        std::optional<TextOnly> text_only{};
        std::map<int64_t, Provenance> provenances{};
    };

    // Listener: called during a computation
    void note(const std::string& sentence) override;
    void progress(const storage::ReadingProgress& reading, const engine::Session& session) override;
    void message_starts(engine::Session& session) override;
    void device_lost(const std::string& device) override;
    std::stop_token stop() const override { return stop_; }

    void run_command();
    void run_command(CommandQueue::Running running);
    void rest();
    void require_saved() const;
    void run_interleaved();

    storage::Store& store(); // the user's database
    storage::Store& place();
    storage::StoredSession& session(); // throws Error if none is open
    bool is_open(const QString& name) const;
    bool is_any_open() const { return session_ || text_only_; }

    void need_model();
    std::string compute_of_open() const;
    bool has_products(const std::string& compute) const;
    std::shared_ptr<const engine::Model> load(const ModelChoiceRequest& wish, const std::string& compute);
    void use(std::shared_ptr<const engine::Model> model, const ModelChoiceRequest& wish,
             const std::string& compute);
    void use_model_for_new_session();
    void use_model_of(const storage::SessionInfo& info);
    void use_model_of_session();
    void lose_device();

    storage::StoredOptions stored_options(const NewSession& wish) const;
    storage::StoredOptions resume_options() const;
    void open(const std::string& name, const storage::StoredOptions& options, bool saved);
    void begin(const QString& name, const NewSession& wish, const std::function<void()>& read);
    void discard_session();
    Left leave(); // throws Error if some turns cannot be stored
    void return_to(Left before);
    void in_its_place(const std::function<void()>& open_another);
    QString name_of(const NewSession& wish, const QString& file);
    QString free_name(const QString& wanted);

    void reads(const QString& what, const std::function<void()>& read);
    void read_with(const std::function<void()>& read);

    engine::SamplerOptions sampling();
    engine::GenerateOptions generate_options(storage::AnswerText& text);
    void turn(const QString& question,
              const std::function<engine::GenerateResult(const engine::GenerateOptions&)>& generate);
    void note_provenance();
    void tell_answer();

    std::shared_ptr<const SessionFacts> tell_facts();
    void tell_frame(bool at_once);
    void look_at(const engine::Session& session, bool at_once);

    EngineThread& owner_;
    QString database_;
    CommandQueue queue_;
    FrameExchange frames_;

    std::mutex mutex_; // guards the members below
    std::shared_ptr<const engine::Model> shared_model_;
    bool has_place_for_system_ = true;
    engine::SamplerOptions sampling_;
    int max_tokens_ = 0; // limit of an answer; 0: the default

    // Used by the engine thread only.
    ModelChoiceRequest model_wish_;
    std::shared_ptr<const engine::Model> model_;
    // Product type requested when model_ was loaded, as a value of --compute.
    std::string compute_ = storage::SessionChoice().compute;
    std::unique_ptr<storage::Store> store_, memory_; // the user's database, and that of an unsaved session
    int64_t memory_number_ = 0, last_memory_ = 0;    // distinguishes unsaved sessions
    std::unique_ptr<storage::StoredSession> session_;
    bool session_is_saved_ = true;
    std::optional<TextOnly> text_only_;               // set instead of session_
    QString opening_;                                 // the session being opened; empty: none
    std::map<int64_t, Provenance> provenances_;       // by answer
    std::optional<engine::SessionState> before_turn_; // session state before the turn, for the trace
    size_t parts_told_ = 0;                           // parts of the stream in the last published facts
    Frame frame_;
    CommandId running_ = 0;
    std::stop_token stop_;
    bool interleaving_ = false;
    Clock::time_point told_{}, looked_{};
    Clock::duration look_cost_{};
    std::jthread thread_; // last: uses all other members
};

} // namespace palimpsest::ui
