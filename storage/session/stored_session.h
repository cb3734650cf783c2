// A session with a name. Whatever is fed is stored first and computed then; checkpoints are written from time to
// time; and whatever ends the process, the session goes on where it stopped, bit for bit.
//
// The stream of a session is a list of parts: framing, documents, messages. Opening a session restores its newest
// intact checkpoint and feeds what the stream has beyond it. This class joins the parts that do the work:
// StreamFeeder restores and feeds, Checkpoints writes states, SessionDocuments reads, SessionTurns talks,
// TurnJournal keeps turns that are not stored yet, DeviceFallback moves all of it to the CPU when a device fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "storage/session/checkpoints.h"
#include "storage/session/device_fallback.h"
#include "storage/session/device_loss.h"
#include "storage/session/document.h"
#include "storage/session/pin_requests.h"
#include "storage/session/reading_rate.h"
#include "storage/session/session_context.h"
#include "storage/session/session_documents.h"
#include "storage/session/session_framing.h"
#include "storage/session/session_report.h"
#include "storage/session/session_turns.h"
#include "storage/session/stream_feeder.h"
#include "storage/session/turn_journal.h"

namespace palimpsest::storage {

class StoredSession {
public:
    // Opens the session of this name, or begins it. Throws Error: Failed (PAL-SNAP-02 and 03) with an estimate of
    // what reading again would take, unless options.reread; Usage (PAL-SESSION-06) for a model or cache option that
    // was given and is not the session's, or a question or system prompt that it was not begun with; PAL-OPTION-06
    // for one that cannot be used.
    StoredSession(Store& store, const std::string& name, const StoredOptions& options, Listener& listener);
    StoredSession(const StoredSession&) = delete; // its parts refer to it
    StoredSession& operator=(const StoredSession&) = delete;

    engine::Session& session() { return *context_.session; }        // REQUIRES: has_engine
    bool has_engine() const { return context_.session != nullptr; } // false: going back failed; open it anew
    const engine::Model& model() const { return *context_.model; }
    const std::shared_ptr<const engine::Model>& shared_model() const { return context_.model; }
    const ModelReport& model_report(); // the first call for a model may read files, to name it
    const engine::ChatTemplate& chat_template() const { return framing_->chat_template(); }
    const engine::Tokenizer& tokenizer() const { return framing_->tokenizer(); }
    const std::string& name() const { return context_.info.name; }
    int64_t id() const { return context_.info.id; }
    const std::string& system() const { return framing_->system(); } // the system prompt; empty: none
    const std::string& question() const
    {
        return framing_->question();
    } // documents are read with it in mind; or empty
    bool is_new() const { return context_.stream.empty(); }
    Coverage coverage() const { return documents_->coverage(); }               // of all documents in it
    std::vector<std::string> sources() const { return documents_->sources(); } // of the documents
    // The ids that are fed for a message now: the framing that opens its turn, the text, and the framing that asks
    // for an answer.
    std::vector<engine::TokenId> turn(const std::string& message) const
    {
        return framing_->turn(context_.stream, message);
    }
    uint64_t tokens_fed_again() const { return feeder_->tokens_fed_again(); } // to catch up, since it was opened
    // The name of the device that failed; the session goes on on the CPU. Empty: none did.
    const std::string& lost_device() const { return lost_device_; }
    // Moves the session to the CPU after its device failed (is_device_loss): restores the newest checkpoint that
    // the CPU can use, or reads the text again. Throws Error if it cannot; Interrupted.
    void go_on_without_device() { move_to_cpu(LastDocument::Finish); }
    uint64_t bytes_written() const { return context_.store.database.bytes_written(); }

    // Reads a document into the open user turn, or goes on with one that was read in part. The state is saved on
    // the way, at the end, and when it is stopped (then throws Interrupted). All pin requests must be found before
    // the last document is read: throws Error (NotFound, PAL-PIN-03). Throws Error (Failed, PAL-DOC-06) for a file
    // that is in the session with other content, unless options.again.
    void read(Document& document, bool more_follow = false) { documents_->read(document, more_follow); }
    bool is_half_read() const { return context_.is_half_read(); } // its last document was not read to its end
    // Reads that document to its end from what is stored of it, as read does for its file. Does nothing without
    // one.
    void read_on() { documents_->read_on(); }
    // Reads documents of another session of the same model, in this order, from their stored tokens. Throws Error
    // (Usage, PAL-DOC-07) for one of another model, before any is read.
    void read_stored(const std::vector<int64_t>& documents) { documents_->read_stored(documents); }

    // Pins passages or token ranges of what was said or read. Throws Error (NotFound, PAL-PIN-03; Usage,
    // PAL-PIN-01).
    void pin(const std::vector<std::string>& requests);
    void pin(const engine::TokenRange& range, const std::string& label);  // of the stream
    void unpin(const engine::TokenRange& range);                          // the pinned tokens of this range
    const std::vector<Pin>& pins() const { return context_.pins->all(); } // by `first`, disjoint
    // As Session::held.
    double held(const engine::TokenRange& range) const { return context_.session->held(range); }

    const std::vector<StreamPart>& parts() const { return context_.stream.parts(); } // of the stream, in order
    // The evictions of each layer's last copy of a token so far: 12 bytes a token and layer. The sink gets them a
    // megabyte at a time.
    std::vector<engine::EvictionEvent> fade_record();
    void read_fade_record(const engine::EvictionSink& sink) { checkpoints_->read_fade_record(sink); }

    // The sampling of the next answers: the options given now, else those of the chat that began the session, else
    // the command's own. Random numbers continue if nothing changes.
    void choose_sampling();
    void choose_sampling(const engine::SamplerOptions& sampling);
    // Goes on from here under another policy, budget and chunk; evicted tokens stay evicted. Throws Error as
    // engine::Session::adopt does, and then changes nothing.
    void change_policy(const SessionChoice& choice);
    // Until something is read or said. Throws Error (Usage, PAL-SESSION-06) from then on.
    void set_system(const std::string& system);
    void rename(const std::string& name); // throws Error (Usage, PAL-SESSION-02)

    // A turn: the message is stored, fed, and answered; the answer is stored while it grows. A full disk does not
    // stop an answer: the turns wait until they can be stored.
    engine::GenerateResult say(const std::string& message, const engine::GenerateOptions& options)
    {
        return turns_->say(message, options);
    }
    // Stores the turns that wait, as every turn and every save tries to. False: it failed again (why_waiting).
    bool store_turns() { return journal_.store(); }
    size_t turns_waiting() const { return journal_.waiting(); }
    // The message of this part, as it is and is not stored yet; nullptr where it is stored. Until the next change.
    const Message* waiting_message(size_t part) const { return journal_.waiting_message(part); }
    const std::optional<Error>& why_waiting() const { return journal_.failure(); }
    // Removes the last message and its answer; reads again what the older checkpoint does not have.
    void undo();
    // Another answer to the last message, with this sampling, which stays until choose_sampling. The answer before
    // stays beside it among the messages, not in the stream. Restores a checkpoint from before the message, or
    // reads the text again; the listener sees its progress. If it is stopped before the new answer has a token
    // (Cancelled), or fails before something of it is stored, the old answer stays. Throws Error as undo does.
    engine::GenerateResult regenerate(const engine::SamplerOptions& sampling,
                                      const engine::GenerateOptions& options)
    {
        return turns_->regenerate(sampling, options);
    }
    // A second session with the stream before this user's message, for another message in its place. It gets the
    // checkpoints that fit; without one its text is read when it is opened. Returns its name. Throws Error: Usage
    // (PAL-SESSION-02) for the name, NotFound (PAL-SESSION-04) for a message that is not a user's in the stream.
    std::string branch(const std::string& name, int64_t message) { return turns_->branch(name, message); }

    void save() { checkpoints_->save(); }
    uint64_t strip() { return checkpoints_->remove_all(); } // keeps the text; returns the bytes that frees

private:
    void choose_stored_options(bool is_stored);
    void load();
    engine::FramingOptions framing_options(bool is_stored) const;
    void make_parts();
    void begin_read_only_view();
    void open();
    void begin();
    void resume();
    void choose_cpu();
    void move_to_cpu(LastDocument last);
    void change_pins(const std::function<SessionPins::Change()>& change);

    SessionContext context_;
    std::string lost_device_;
    const engine::Model* reported_model_ = nullptr;
    ModelReport model_report_;                  // of reported_model_
    std::unique_ptr<SQLite::Transaction> view_; // read_only: one state of the database, whatever its owner writes
    TurnJournal journal_;
    ReadingRate rate_;
    DeviceFallback fallback_;
    // Made once the model is loaded and its options are known.
    std::unique_ptr<SessionFraming> framing_;
    std::unique_ptr<Checkpoints> checkpoints_;
    std::unique_ptr<StreamFeeder> feeder_;
    std::unique_ptr<PinRequests> pin_requests_;
    std::unique_ptr<SessionDocuments> documents_;
    std::unique_ptr<SessionTurns> turns_;
};

// A second session that goes on from the same point. Throws Error as Conversations::fork does.
void fork_session(Store& store, const std::string& name, const std::string& to);

} // namespace palimpsest::storage
