// The state that the parts of a stored session share: where it is stored, its model, its stream, and the engine's
// session that computes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/session/session.h"
#include "kernels/base/text.h"
#include "storage/session/installed_encoder.h"
#include "storage/session/listener.h"
#include "storage/session/rereading.h"
#include "storage/session/session_choice.h"
#include "storage/session/session_pins.h"
#include "storage/session/session_stream.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

// Whether notes are written while documents are read (note_taking.h).
enum class NoteMode : uint8_t {
    Never,
    IfLonger, // if the documents are longer than what the session holds
    Always
};

struct StoredOptions {
    SessionChoice choice;
    double checkpoint_seconds = 60;
    bool recompute = false; // read the text again if every checkpoint is refused
    RereadOptions rereading{};
    NoteMode notes = NoteMode::Never;
    bool keeps_states = true; // writes checkpoints; false: if the process ends, the text is read again
    bool read_only = false;   // never write to the database; new tokens stay in memory
    bool again = false;       // read a file as one more document even if this session has read it before
    bool talks = false;       // a new session is a chat: its sampling is stored with it
    std::optional<std::string> question{};   // known while documents are read (Protocol::Steered)
    Text question_option{Setting::Question}; // the option that gave it, for error messages
    bool tells_catching_up = false;          // report progress to the listener while catching up, too
    bool stays_empty = false;                // leave it to the caller to discard a session that stays empty
    // A model that is loaded already and shared with other sessions; null: load the one that `choice` names. A
    // stored session must have been begun with it.
    std::shared_ptr<const engine::Model> model{};
};

struct SessionContext {
    Store& store;
    StoredOptions options;
    Listener& listener;
    SessionInfo info{};
    std::shared_ptr<const engine::Model> model{};
    SessionStream stream{};
    std::unique_ptr<SessionPins> pins{};
    std::chrono::steady_clock::time_point opened_at = std::chrono::steady_clock::now();
    SnapshotForm snapshot_form = SnapshotForm::Exact; // of the checkpoints to come
    bool is_begun_here = false;                       // no session of this name was stored
    std::unique_ptr<engine::Session> session{};       // null: restoring it failed; open the session again
    InstalledEncoder installed_encoder{};

    uint64_t position() const // tokens that were computed or wait for their chunk
    {
        return session->tokens_seen() + static_cast<uint64_t>(session->pending());
    }
    // Whether the last part is a document that was not read to its end.
    bool is_half_read() const { return stream.ends_with_document() && position() < stream.tokens(); }
    Text subject() const; // of errors: "session 'NAME'"
    // As InstalledEncoder::get. Null if nothing is to be read again, or if nothing may be written.
    PassageEncoder* encoder();
    // As encoder(), for finding something: InstalledEncoder::get_for_finding.
    PassageEncoder* encoder_for_finding();
    // Calls `work` with the encoder, if there is one, as InstalledEncoder::use.
    void encode(const std::function<void(PassageEncoder&)>& work);
    // Returns options.choice with the options that the session was begun with.
    SessionChoice begun_with() const;
};

} // namespace palimpsest::storage
