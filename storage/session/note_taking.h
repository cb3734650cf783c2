// Writes notes on the documents of a session, stretch by stretch: while a document is read, by a copy of the
// session that has read up to the stretch's end; later, by a session that reads the stretch alone. The session
// itself is never changed, so everything else is bit for bit as without notes.
//
// A note whose names or numbers its stretch does not hold, or that is about something else (storage/notes/
// note_text.h), is replaced by sentences of the stretch.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "storage/notes/note.h"
#include "storage/session/checkpoints.h"
#include "storage/session/session_context.h"
#include "storage/session/session_framing.h"

namespace palimpsest::storage {

class NoteTaking {
public:
    static constexpr size_t most_words = 60; // of a note

    // The arguments must outlive this object.
    NoteTaking(SessionContext& context, const SessionFraming& framing, const Checkpoints& checkpoints)
        : context_(context), framing_(framing), checkpoints_(checkpoints)
    {
    }

    // Whether notes are wanted: options.notes, and for NoteMode::IfLonger the stream is longer than what the
    // session holds, or there are notes already.
    bool is_wanted() const;
    // The stretches of a document that end at or after this token and have no note yet, in order; none if notes are
    // not wanted.
    std::deque<Stretch> missing(int64_t document, uint64_t from_token);
    // Writes the note on a stretch at whose end the session is, and stores it. Returns false if stopped; nothing is
    // stored then.
    bool write(int64_t document, const Stretch& stretch, const std::stop_token& stop);
    // Writes all missing notes on what the stream's documents hold and the session has read. Returns false if
    // stopped; the notes written so far are stored. Tells the listener its progress.
    // Throws Error as Session does; Failed (PAL-DOC-05) for a document whose passages are not known.
    bool complete(const std::stop_token& stop);

private:
    using Clock = std::chrono::steady_clock;
    struct MissingNote {
        int64_t document = 0;
        Stretch stretch;
        uint64_t end = 0; // of the stretch, in the stream
    };
    bool has_some() const;
    std::vector<MissingNote> all_missing(); // on what was read
    void refuse_unindexed(int64_t document) const;
    bool write(engine::Session& session, Note note, Clock::time_point begin, const std::stop_token& stop);
    bool write_apart(int64_t document, const Stretch& stretch, const std::stop_token& stop);

    SessionContext& context_;
    const SessionFraming& framing_;
    const Checkpoints& checkpoints_;
};

} // namespace palimpsest::storage
