// A session with a name. What is fed is stored first and computed then; its state is saved from time to time; and
// whatever ends the process, it goes on where it stopped, bit for bit.
//
// The stream of a session is a list of parts: framing, documents, messages. A state says how many tokens of it were
// computed; opening a session restores the newest good state and feeds what the stream has beyond it.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console.h"
#include "app/palimpsest/device_loss.h"
#include "app/palimpsest/document.h"
#include "app/palimpsest/progress.h"
#include "app/palimpsest/reading.h"
#include "app/palimpsest/session_pins.h"
#include "app/palimpsest/store.h"
#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "kernels/base/error.h"

namespace palimpsest::app {

struct StoredOptions {
    CommonOptions common;
    double checkpoint_seconds = 60;
    bool reread = false;                        // a state that is refused is made again from the text
    bool read_only = false;                     // the database is only read: what is fed stays in memory
    bool again = false;                         // a file that was read before is read as a further document
    bool talks = false;                         // a session begun now is a chat: its sampling belongs to it
    std::optional<std::string> question{};      // to be kept in mind while documents are read
    std::string question_option = "--question"; // that gave it
};

class StoredSession {
public:
    // Opens the session of this name, or begins it. Throws Error: Failed (PAL-SNAP-02 and 03) with an estimate of
    // what reading again would take, unless options.reread; Usage (PAL-SESSION-06) for a model or cache option that
    // was given and is not the session's, or a question that it was not begun with; PAL-OPTION-06 for one that
    // cannot be.
    StoredSession(Store& store, const std::string& name, const StoredOptions& options, Console& console);

    engine::Session& session() { return *session_; }
    const engine::Model& model() const { return *model_; }
    const std::shared_ptr<const engine::Model>& shared_model() const { return model_; }
    const engine::ChatTemplate& chat_template() const { return *template_; }
    const engine::Tokenizer& tokenizer() const { return *tokenizer_; }
    const std::string& name() const { return info_.name; }
    int64_t id() const { return info_.id; }
    const std::string& question() const { return question_; } // that documents are read with in mind; empty: none
    bool is_new() const { return parts_.empty(); }
    Coverage coverage();                // of all documents in it
    std::vector<std::string> sources(); // of the documents
    // What is fed for a message now: the framing that opens its turn, the text, and what asks for an answer.
    std::vector<engine::TokenId> turn(const std::string& message) const;
    uint64_t tokens_fed_again() const { return fed_again_; } // since it was opened, to catch up
    // What failed while it was computed on; then all goes on on the CPU. Empty: nothing did.
    const std::string& lost_device() const { return lost_device_; }
    // The device has failed (is_device_loss): the session goes on on the CPU, from its newest state that can be
    // used there, or from its text (P13). Throws Error if it cannot; Interrupted.
    void go_on_without_device();
    uint64_t bytes_written() const { return store_.database.bytes_written(); }

    // Reads a document into the open user turn, or goes on with one that is only partly read. The state is saved on
    // the way, at the end, and when it is stopped (then throws Interrupted). What is to be pinned must be there
    // before the last document is read: throws Error (NotFound, PAL-PIN-03). Throws Error (Failed, PAL-DOC-06) for
    // a file that is in the session with other content, unless options.again.
    void read(Document& document, bool more_follow = false);
    // Pins more, of what was said or read. Throws Error (NotFound, PAL-PIN-03; Usage, PAL-PIN-01).
    void pin(const std::vector<std::string>& wishes);

    // The sampling of what is said from now on: what was given now, else the chat's that began it, else the
    // command's own. If it is what it was, its random numbers go on.
    void choose_sampling();
    // A turn: the message is stored, fed, and answered; the answer is stored while it grows. A disk that is full
    // stops no answer (P4): then turns wait.
    engine::GenerateResult say(const std::string& message, const engine::GenerateOptions& options);
    // Stores the turns that wait, as every turn and every save tries to; false if it fails again, and at once after
    // a failure that is none of space (P5).
    bool store_turns();
    size_t turns_waiting() const { return turns_.size(); }
    const std::optional<Error>& why_waiting() const { return not_stored_; }
    void undo(); // the last message and its answer; reads again what the older state does not have

    void save();      // the state as it is now
    uint64_t strip(); // removes all saved states, keeps the text; returns the bytes that frees

private:
    using Clock = std::chrono::steady_clock;
    struct Turn {
        storage::Message question, reply;
        size_t part = 0;     // of the stream: the question; its reply follows
        bool stored = false; // as it was at some time
    };

    // Again on the CPU if the device fails.
    template<class Operation>
    auto with_fallback(const Operation& operation)
    {
        try {
            return operation();
        } catch (const Error& error) {
            if (!is_device_loss(error)) throw;
        }
        go_on_without_device();
        return operation();
    }
    void open(const std::string& name); // begins it if it is not there
    void load();
    CommonOptions begun_with() const; // what it was begun with, in place of what was given now
    void read_here(Document& document, bool more_follow);
    engine::GenerateResult generate(Turn& turn, const engine::GenerateOptions& options);
    void begin(const std::string& name);
    void resume();
    void check_model() const;
    void check_cache_options() const;
    CommonOptions asked() const;
    [[noreturn]] void refuse_budget() const;
    void check_question() const;
    // Documents are read with the session's question in mind, what is said is not.
    void keep_question_in_mind(bool reads_document);
    bool restore_newest();
    void catch_up(bool finish_document);
    void feed_part(const storage::StreamPart& part, uint64_t skip);
    void feed_document(int64_t document, uint64_t first, uint64_t count, Progress* progress);
    void feed(std::span<const engine::TokenId> ids, Progress* progress, uint64_t total = 0);
    // False: it was stopped, and the rest is to be fed yet.
    bool try_feed(std::span<const engine::TokenId> ids, std::stop_token stop, Progress* progress = nullptr,
                  uint64_t total = 0);
    bool read_rest(std::stop_token stop); // of unread_
    [[noreturn]] void interrupted();      // saves, and throws Interrupted
    uint64_t most_bytes(const engine::SessionState& state) const;
    void check_message(const std::string& message) const;
    void discard_if_new();
    void go_on(const storage::StreamPart& part, bool has_changed);
    bool was_read(const Document& document);
    bool is_as_stored(const Document& document, const storage::DocumentInfo& stored) const;
    // Nothing for what went_on_ already is.
    std::optional<int64_t> add_document(Document& document, bool more_follow);
    // Pins what is found, in one transaction `with_them`.
    void look_for_pins(const std::vector<storage::StreamPart>& stream, bool all_must_be_there,
                       const std::function<void()>& with_them = {});
    int64_t import(Document& document, bool first_text);
    std::vector<engine::TokenId> next_document(const std::string& title) const;
    std::optional<int64_t> last_message() const;
    engine::GenerateResult end_turn(Turn& turn, engine::GenerateResult result); // stores and saves
    Turn& begin_turn(const std::string& message);
    void put(Turn& turn, std::optional<int64_t> parent);
    void save_if_there_is_room();
    void watch_fading();
    bool chapter_checkpoint_is_due() const;
    uint64_t state_bytes() const;
    void checkpoint_if_due(bool at_chapter);
    uint64_t position() const; // computed, and waiting for their chunk
    uint64_t planned() const;  // of the whole stream
    void note_rate();          // of reading with this model here, for estimates; within a transaction
    std::string rate_key() const;
    std::string time_to_read(uint64_t tokens); // ", about 3 min", or nothing if it was never measured

    Store& store_;
    StoredOptions options_;
    Console& console_;
    std::shared_ptr<const engine::Model> model_;
    std::shared_ptr<const engine::Model> lost_model_; // whose tokenizer is used on
    std::string lost_device_;
    bool goes_back_ = false;         // for the lost device: with progress
    bool documents_may_wait_ = true; // until they are read; where something is said they are read first
    const engine::Tokenizer* tokenizer_ = nullptr;
    std::unique_ptr<engine::ChatTemplate> template_;
    storage::SessionInfo info_;
    std::optional<storage::DocumentInfo> went_on_; // a piped document that was read to its end just now
    bool begun_ = false;                           // by this object
    std::vector<engine::TokenId> unread_;          // of a question whose reading was stopped
    std::string question_;
    std::vector<engine::TokenId> question_rows_; // as steer makes them
    std::vector<storage::StreamPart> parts_;
    std::unique_ptr<engine::Session> session_;
    std::unique_ptr<SQLite::Transaction> view_; // read_only: of the database, whatever its owner does
    std::unique_ptr<SessionPins> pins_;
    std::vector<std::string> wishes_;      // to be pinned, and not found yet
    std::vector<engine::FadeEvent> faded_; // since the last state
    uint64_t fed_again_ = 0;
    uint64_t fed_tokens_ = 0; // since the rate was noted
    double fed_seconds_ = 0;
    std::list<Turn> turns_;           // not stored, or not as they are now
    std::optional<Error> not_stored_; // why
    bool sampling_is_stored_ = true;  // with the newest state

    Clock::time_point saved_ = Clock::now();
    uint64_t snapshot_bytes_ = 0;  // of the last state
    uint64_t written_at_open_ = 0; // bytes
    uint64_t opened_at_ = 0;       // tokens
};

} // namespace palimpsest::app
