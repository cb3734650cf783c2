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

#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "kernels/base/error.h"
#include "storage/session/device_loss.h"
#include "storage/session/document.h"
#include "storage/session/listener.h"
#include "storage/session/reading.h"
#include "storage/session/session_choice.h"
#include "storage/session/session_pins.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

struct StoredOptions {
    SessionChoice choice;
    double checkpoint_seconds = 60;
    bool reread = false;                        // a state that is refused is made again from the text
    bool read_only = false;                     // the database is only read: what is fed stays in memory
    bool again = false;                         // a file that was read before is read as a further document
    bool talks = false;                         // a session begun now is a chat: its sampling belongs to it
    std::optional<std::string> question{};      // to be kept in mind while documents are read
    std::string question_option = "--question"; // that gave it
    bool tells_catching_up = false;             // the listener hears of text that is read again, too
    bool stays_empty = false; // begun for a document that could not be taken in, it is the caller's to discard
    // Loaded already, and shared with other sessions; null: it is loaded as the choice says. A stored session must
    // have been begun with it.
    std::shared_ptr<const engine::Model> model{};
};

class StoredSession {
public:
    // Opens the session of this name, or begins it. Throws Error: Failed (PAL-SNAP-02 and 03) with an estimate of
    // what reading again would take, unless options.reread; Usage (PAL-SESSION-06) for a model or cache option that
    // was given and is not the session's, or a question or system prompt that it was not begun with; PAL-OPTION-06
    // for one that cannot be.
    StoredSession(Store& store, const std::string& name, const StoredOptions& options, Listener& listener);

    engine::Session& session() { return *session_; }        // REQUIRES: has_engine
    bool has_engine() const { return session_ != nullptr; } // false: going back failed, and it is to be opened anew
    const engine::Model& model() const { return *model_; }
    const std::shared_ptr<const engine::Model>& shared_model() const { return model_; }
    const engine::ChatTemplate& chat_template() const { return *template_; }
    const engine::Tokenizer& tokenizer() const { return *tokenizer_; }
    const std::string& name() const { return info_.name; }
    int64_t id() const { return info_.id; }
    const std::string& system() const { return framing_.system; } // the system prompt; empty: none
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
    // used there, or from its text (docs/validation.md, P13). Throws Error if it cannot; Interrupted.
    void go_on_without_device();
    uint64_t bytes_written() const { return store_.database.bytes_written(); }

    // Reads a document into the open user turn, or goes on with one that is only partly read. The state is saved on
    // the way, at the end, and when it is stopped (then throws Interrupted). What is to be pinned must be there
    // before the last document is read: throws Error (NotFound, PAL-PIN-03). Throws Error (Failed, PAL-DOC-06) for
    // a file that is in the session with other content, unless options.again.
    void read(Document& document, bool more_follow = false);
    // Its last document was not read to its end.
    bool is_half_read() const { return !parts_.empty() && parts_.back().document && position() < planned(); }
    // Reads on what is stored of that document, as read does for its file; nothing is left to do without one.
    void read_on();
    // Documents of another session of the same model, in this order, from their stored tokens. Throws Error (Usage,
    // PAL-DOC-07) for one of another model, before any is read.
    void read_stored(const std::vector<int64_t>& documents);
    // Pins more, of what was said or read. Throws Error (NotFound, PAL-PIN-03; Usage, PAL-PIN-01).
    void pin(const std::vector<std::string>& wishes);
    void pin(const engine::TokenRange& range, const std::string& label);                 // of the stream
    void unpin(const engine::TokenRange& range);                                         // whatever of it is pinned
    const std::vector<Pin>& pins() const { return pins_->all(); }                        // by `first`, apart
    double held(const engine::TokenRange& range) const { return session_->held(range); } // as Session::held

    const std::vector<StreamPart>& parts() const { return parts_; } // of the stream, in order
    // What each layer has let go of, up to now: 12 bytes a token and layer. The sink gets it a megabyte at a time.
    std::vector<engine::FadeEvent> fading();
    void fading(const engine::FadeSink& sink);

    // The sampling of what is said from now on: what was given now, else the chat's that began it, else the
    // command's own. If it is what it was, its random numbers go on.
    void choose_sampling();
    void choose_sampling(const engine::SamplerOptions& sampling);
    // Goes on from here under another policy, budget and chunk; what has left the cache stays away. Throws Error as
    // engine::Session::adopt does, and then changes nothing.
    void change_policy(const SessionChoice& choice);
    // Until something is read or said. Throws Error (Usage, PAL-SESSION-06) from then on.
    void set_system(const std::string& system);
    void rename(const std::string& name); // throws Error (Usage, PAL-SESSION-02)
    // A turn: the message is stored, fed, and answered; the answer is stored while it grows. A disk that is full
    // stops no answer (docs/validation.md, P4): then turns wait.
    engine::GenerateResult say(const std::string& message, const engine::GenerateOptions& options);
    // Stores the turns that wait, as every turn and every save tries to; false if it fails again, and at once after
    // a failure other than a full disk (docs/validation.md, P5).
    bool store_turns();
    size_t turns_waiting() const { return turns_.size(); }
    // Of this part of the stream, as it is and is not stored yet; null where it is stored. Until the next change.
    const Message* waiting_message(size_t part) const;
    const std::optional<Error>& why_waiting() const { return not_stored_; }
    void undo(); // the last message and its answer; reads again what the older state does not have
    // Another answer to the last message, with this sampling, which stays until choose_sampling. The answer before
    // stays beside it among the messages, not in the stream. Goes back to a state from before the message, or reads
    // the text again; the listener hears of it. Stopped before the new answer has a token (Cancelled) or at an
    // error before something of it is stored, the answer is the one that was there. Throws Error as undo does.
    engine::GenerateResult regenerate(const engine::SamplerOptions& sampling,
                                      const engine::GenerateOptions& options);
    // A second session that holds what came before this message of the user's, for another in its place; its states
    // where one fits, or else its text is read when it is opened. Returns its name. Throws Error: Usage
    // (PAL-SESSION-02) for the name, NotFound (PAL-SESSION-04) for no message of the user's in the stream.
    std::string branch(const std::string& name, int64_t message);

    void save();      // the state as it is now
    uint64_t strip(); // removes all saved states, keeps the text; returns the bytes that frees

private:
    using Clock = std::chrono::steady_clock;
    struct Turn {
        Message question, reply;
        size_t part = 0;                                  // of the stream: the question; its reply follows
        bool stored = false;                              // as it was at some time
        std::optional<int64_t> replaces{};                // an answer to the question, which was stored before
        std::optional<engine::SamplerOptions> sampling{}; // of the reply, where it is not that of the state before
    };
    class GoingBack;

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
    SessionChoice begun_with() const; // what it was begun with, in place of what was given now
    void read_here(Document& document, bool more_follow);
    void read_stored_here(const std::vector<DocumentInfo>& documents);
    void take_in(const std::function<void()>& read); // a document; on the CPU where the device fails
    void change_pins(const std::function<SessionPins::Change()>& change);
    engine::GenerateResult grow(Turn& turn, const engine::GenerateOptions& options); // stores it while it grows
    engine::GenerateResult generate(Turn& turn, const engine::GenerateOptions& options);
    size_t last_question() const; // its part of the stream, where its answer is the last
    // To just behind the question, without its answer. False: stopped.
    bool go_back_to(size_t question, const std::stop_token& stop);
    void put_back(); // what is stored, in place of a turn of which nothing is
    void replace_answer(Turn& turn);
    void restore_before(uint64_t tokens);
    std::unique_ptr<engine::Session> fresh() const; // as it was begun, with nothing fed
    uint64_t tokens_before(size_t part) const;
    std::stop_token stop() const { return stop_ ? *stop_ : listener_.stop(); }
    void begin(const std::string& name);
    void resume();
    void choose_cpu();
    void check_model() const;
    void check_compute() const;
    void check_cache_options() const;
    SessionChoice asked() const;
    [[noreturn]] void refuse_budget() const;
    void check_question() const;
    void check_system() const;
    void make_template();      // and the question's rows, which it frames
    void keep_plain_framing(); // of a session that was begun with it
    // Documents are read with the session's question in mind, what is said is not.
    void keep_question_in_mind(bool reads_document);
    bool restore_newest();
    void catch_up(bool finish_document);
    void feed_part(const StreamPart& part, uint64_t skip);
    void feed_document(int64_t document, uint64_t first, uint64_t count, ReadingMeter* progress);
    void feed(std::span<const engine::TokenId> ids, ReadingMeter* progress, uint64_t total = 0);
    // False: it was stopped, and the rest is to be fed yet.
    bool try_feed(std::span<const engine::TokenId> ids, std::stop_token stop, ReadingMeter* progress = nullptr,
                  uint64_t total = 0);
    bool read_rest(std::stop_token stop); // of unread_
    [[noreturn]] void interrupted();      // saves, and throws Interrupted
    uint64_t most_bytes(const engine::SessionState& state) const;
    void check_message(const std::string& message) const;
    void discard_if_new();
    void go_on(const StreamPart& part, bool has_changed);
    bool was_read(const Document& document);
    bool is_as_stored(const Document& document, const DocumentInfo& stored) const;
    // Nothing for what went_on_ already is.
    std::optional<int64_t> add_document(Document& document, bool more_follow);
    // Pins what is found, in one transaction `with_them`.
    void look_for_pins(const std::vector<StreamPart>& stream, bool all_must_be_there,
                       const std::function<void()>& with_them = {});
    void finish_going_back();
    StreamPart framing_of(const std::string& title) const;
    void save_as(engine::Session& changed, const std::string& settings);
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
    Listener& listener_;
    std::shared_ptr<const engine::Model> model_;
    std::shared_ptr<const engine::Model> lost_model_; // whose tokenizer is used on
    std::string lost_device_;
    bool goes_back_ = false;              // text is read again: with progress
    bool saves_ = true;                   // false: what is computed is not yet what is stored
    std::optional<std::stop_token> stop_; // in place of the listener's
    uint64_t went_back_to_ = 0;           // tokens: the state that an answer was taken back to
    bool documents_may_wait_ = true;      // until they are read; where something is said they are read first
    const engine::Tokenizer* tokenizer_ = nullptr;
    engine::FramingOptions framing_;
    std::unique_ptr<engine::ChatTemplate> template_;
    SessionInfo info_;
    std::optional<DocumentInfo> went_on_; // a piped document that was read to its end just now
    bool begun_ = false;                  // by this object
    std::vector<engine::TokenId> unread_; // of a question whose reading was stopped
    std::string question_;
    std::vector<engine::TokenId> question_rows_; // as steer makes them
    std::vector<StreamPart> parts_;
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

// A second session that goes on from the same point. Throws Error as Conversations::fork does.
void fork_session(Store& store, const std::string& name, const std::string& to);

} // namespace palimpsest::storage
