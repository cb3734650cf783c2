// A named session that goes on where it stopped, bit for bit, whatever ended the process: text is stored before it
// is computed, and checkpoints are written from time to time.
//
// The stream of a session is a list of parts: framing, documents, messages. Opening a session restores its newest
// intact checkpoint and feeds what the stream has beyond it. This class joins the parts that do the work:
// StreamFeeder restores and feeds, Checkpoints saves session states, SessionDocuments reads documents, SessionTurns
// answers messages, NoteTaking writes notes, TurnJournal keeps turns that are not stored yet, DeviceFallback moves
// the session to the CPU if its device fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "storage/session/answer_support.h"
#include "storage/session/checkpoints.h"
#include "storage/session/device_fallback.h"
#include "storage/session/device_loss.h"
#include "storage/session/document.h"
#include "storage/session/early_answer.h"
#include "storage/session/note_taking.h"
#include "storage/session/pin_requests.h"
#include "storage/session/session_context.h"
#include "storage/session/session_documents.h"
#include "storage/session/session_framing.h"
#include "storage/session/session_report.h"
#include "storage/session/session_turns.h"
#include "storage/session/stored_reading_rate.h"
#include "storage/session/stream_feeder.h"
#include "storage/session/turn_journal.h"

namespace palimpsest::storage {

class StoredSession {
public:
    // Opens the session of this name, or begins it. Throws Error: Failed (PAL-SNAP-02, 03) if no checkpoint can be
    // used, unless options.recompute; it tells how long reading again would take. Usage (PAL-SESSION-06) if a
    // model, cache option, question or system prompt is given that the session was not begun with; Usage
    // (PAL-OPTION-06) for a question that cannot be used.
    StoredSession(Store& store, const std::string& name, const StoredOptions& options, Listener& listener);
    StoredSession(const StoredSession&) = delete; // its parts refer to it
    StoredSession& operator=(const StoredSession&) = delete;

    engine::Session& session() { return *context_.session; } // REQUIRES: has_engine
    // Tokens per layer and KV head; absent if everything is held. REQUIRES: has_engine.
    std::optional<int32_t> budget() const
    {
        const engine::Session& session = *context_.session;
        return session.policy().bounded() ? std::optional(session.options().budget) : std::nullopt;
    }
    // False if restoring failed: the session must be opened again.
    bool has_engine() const { return context_.session != nullptr; }
    const engine::Model& model() const { return *context_.model; }
    const std::shared_ptr<const engine::Model>& shared_model() const { return context_.model; }
    const ModelReport& model_report(); // the first call for a model may read files, to name it
    const engine::ChatTemplate& chat_template() const { return framing_->chat_template(); }
    const engine::Tokenizer& tokenizer() const { return framing_->tokenizer(); }
    const std::string& name() const { return context_.info.name; }
    int64_t id() const { return context_.info.id; }
    SnapshotForm snapshot_form() const { return context_.snapshot_form; } // of the checkpoints to come
    const std::string& system() const { return framing_->system(); }      // the system prompt; empty: none
    // The question that is known while documents are read; empty: none.
    const std::string& question() const { return framing_->question(); }
    bool is_new() const { return context_.stream.empty(); }
    Coverage coverage() const { return documents_->coverage(); }               // of all documents in the stream
    std::vector<std::string> sources() const { return documents_->sources(); } // of the documents
    // The turn of a message that would be said now.
    FramedTurn turn(const std::string& message, std::span<const QuotedPassage> passages = {}) const
    {
        return framing_->turn(context_.stream, message, passages);
    }
    const SessionStream& stream() const { return context_.stream; }
    Store& store() const { return context_.store; }
    uint64_t tokens_fed_again() const { return feeder_->tokens_fed_again(); } // by catching up since it was opened
    // The name of the device that failed, after which the session uses the CPU; empty: none failed.
    const std::string& lost_device() const { return lost_device_; }
    // Moves the session to the CPU after its device failed (is_device_loss): restores the newest checkpoint that
    // the CPU can use, or reads the text again. Throws Error if it cannot, Interrupted when it is stopped.
    void go_on_without_device() { move_to_cpu(LastDocument::Finish); }
    // Whether notes are written from now on; instead of options.notes.
    void set_notes(NoteMode mode) { context_.options.notes = mode; }
    NoteMode note_mode() const { return context_.options.notes; }
    // Writes the missing notes on what was read. Returns false if options.notes wants none. Throws Interrupted when
    // stopped; the notes written so far are stored.
    bool complete_notes();
    std::vector<Note> notes(); // in the order of the stream's documents
    // A session that has read nothing, with this session's options.
    std::unique_ptr<engine::Session> fresh_session() const { return checkpoints_->fresh(); }
    uint64_t bytes_written() const { return context_.store.database.bytes_written(); }

    // Reads a document into the open user turn, or goes on with one that was read in part. The state is saved on
    // the way, at the end, and when it is stopped (then throws Interrupted). `more_follow`: other documents will be
    // read after it. Throws Error: NotFound (PAL-PIN-03) or Usage (PAL-PIN-02) if a passage or a token number to
    // pin is not in the text and no more follow; Failed (PAL-DOC-06) if the file has changed since this session
    // read it, unless options.again.
    void read(Document& document, bool more_follow = false) { documents_->read(document, more_follow); }
    bool is_half_read() const { return context_.is_half_read(); } // its last document was not read to its end
    // Reads a half-read last document to its end, from its stored tokens. Does nothing if there is none.
    void read_on() { documents_->read_on(); }
    // Reads stored documents, in this order: from their stored tokens, or from their text if the tokens are those
    // of another model.
    void read_stored(const std::vector<int64_t>& documents, bool more_follow = false)
    {
        documents_->read_stored(documents, more_follow);
    }

    // Pins passages or token ranges of what was said or read, up to its end. Throws Error (NotFound, PAL-PIN-03;
    // Usage, PAL-PIN-01, and 02 for a range behind the end).
    void pin(const std::vector<std::string>& requests);
    void pin(const engine::TokenRange& range, const std::string& label);  // of the stream
    void unpin(const engine::TokenRange& range);                          // the pinned tokens of this range
    const std::vector<Pin>& pins() const { return context_.pins->all(); } // by `first`, disjoint
    // As Session::held.
    double held(const engine::TokenRange& range) const { return context_.session->held(range); }

    const std::vector<StreamPart>& parts() const { return context_.stream.parts(); } // of the stream, in order
    // Which passages messages read again from now on.
    void set_rereading(const RereadOptions& options) { context_.options.rereading = options; }
    const RereadOptions& rereading() const { return context_.options.rereading; }
    // All eviction events so far, 12 bytes each: at most one per token and layer. read_fade_record passes the
    // stored ones in pieces of at most 1 MiB.
    std::vector<engine::EvictionEvent> fade_record();
    void read_fade_record(const engine::EvictionSink& sink) { checkpoints_->read_fade_record(sink); }

    // The sampling of the next answers: the options given now, else those of the chat that began the session, else
    // the command's own. Random numbers continue if nothing changes.
    void choose_sampling();
    void choose_sampling(const engine::SamplerOptions& sampling);
    // Goes on from here under another policy, budget and chunk; evicted tokens stay evicted. Throws Error as
    // engine::Session::adopt does, and then changes nothing.
    void change_policy(const SessionChoice& choice);
    // Sets the system prompt. Throws Error (Usage, PAL-SESSION-06) once something was read or said.
    void set_system(const std::string& system);
    void rename(const std::string& name); // throws Error (Usage, PAL-SESSION-02)

    // Stores and feeds the message, with the passages that it reads again, and generates the answer, which is
    // stored while it grows. The listener is told what was found. A full disk does not stop an answer: the turn
    // then waits in the journal until it can be stored.
    engine::GenerateResult say(const std::string& message, const engine::GenerateOptions& options)
    {
        return turns_->say(message, options);
    }
    // As storage::answer_early.
    std::optional<EarlyAnswer> answer_early(const std::string& question, const engine::GenerateOptions& options)
    {
        return storage::answer_early(context_, *framing_, question, options);
    }
    // Whether the last answer was written from what its question has read again alone, and not from the cache.
    bool was_written_apart() const { return turns_->was_written_apart(); }
    // How the passages that the listener was told of support the last answer.
    AnswerSupport support_of(std::string_view answer, std::string_view question, const Rereading& found)
    {
        return storage::support_of(answer,
                                   FoundSentences(found, {question, found.before}, context_.store,
                                                  context_.encoder_for_finding(), context_.listener.stop()));
    }
    // Tries to store the waiting turns; every turn and every save does so, too. Returns false if it fails
    // (why_waiting).
    bool store_turns() { return journal_.store(); }
    size_t turns_waiting() const { return journal_.waiting(); }
    // Returns the message of this part if it is not stored in its current version, otherwise null. Valid until the
    // next change.
    const Message* waiting_message(size_t part) const { return journal_.waiting_message(part); }
    const std::optional<Error>& why_waiting() const { return journal_.failure(); }
    // Removes the last message and its answer: restores an older checkpoint, and feeds the text after it again.
    void undo();
    // Generates another answer to the last message, which takes the place of the old one in the stream; the old one
    // is still stored as a message. `sampling` is in force until choose_sampling is called. Restores a checkpoint
    // from before the message, or reads the text again, which the listener can follow. If generation is stopped
    // before the new answer has a token (Cancelled), or fails before any of it is stored, nothing is replaced.
    // Throws Error as undo does.
    engine::GenerateResult regenerate(const engine::SamplerOptions& sampling,
                                      const engine::GenerateOptions& options)
    {
        return turns_->regenerate(sampling, options);
    }
    // Creates a session with the stream up to `message` of the user, but without it, so that another message can be
    // sent in its place. It shares the checkpoints up to there; if there are none, its text is read when it is
    // opened. Returns its name. Throws Error: Usage
    // (PAL-SESSION-02) for the name, NotFound (PAL-SESSION-04) for a message that is not a user's in the stream.
    std::string branch(const std::string& name, int64_t message) { return turns_->branch(name, message); }

    void save() { checkpoints_->save(); }
    uint64_t strip() { return checkpoints_->remove_all(); } // keeps the text; returns the number of bytes freed

private:
    void choose_stored_options(bool is_stored);
    void load();
    engine::FramingOptions framing_options(bool is_stored) const;
    void make_parts();
    void begin_read_only_view();
    void open();
    void store_snapshot_form();
    void begin();
    void resume();
    void choose_cpu();
    void move_to_cpu(LastDocument last);
    void change_pins(const std::function<SessionPins::Change()>& change);

    SessionContext context_;
    std::string lost_device_;
    const engine::Model* reported_model_ = nullptr;
    ModelReport model_report_;                  // of reported_model_
    std::unique_ptr<SQLite::Transaction> view_; // with read_only: an unchanging view while the owner writes
    TurnJournal journal_;
    StoredReadingRate rate_;
    DeviceFallback fallback_;
    // Made once the model is loaded and its options are known.
    std::unique_ptr<SessionFraming> framing_;
    std::unique_ptr<Checkpoints> checkpoints_;
    std::unique_ptr<NoteTaking> note_taking_;
    std::unique_ptr<StreamFeeder> feeder_;
    std::unique_ptr<PinRequests> pin_requests_;
    std::unique_ptr<SessionDocuments> documents_;
    std::unique_ptr<SessionTurns> turns_;
};

// Creates session `to` with the stream and checkpoints of session `name`. Throws Error as Conversations::fork does.
void fork_session(Store& store, const std::string& name, const std::string& to);

} // namespace palimpsest::storage
