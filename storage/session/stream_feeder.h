// Brings a session to the end of its stored stream: restores a checkpoint, then feeds what the stream has beyond
// it; and feeds new parts of the stream. The result is the same, bit for bit, wherever it was stopped and
// continued.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "storage/session/checkpoints.h"
#include "storage/session/note_taking.h"
#include "storage/session/reading_meter.h"
#include "storage/session/session_context.h"
#include "storage/session/session_framing.h"

namespace palimpsest::storage {

// Whether catching up reads a half-read document at the end of the stream to its end, or leaves it.
enum class LastDocument { Finish, MayStayHalfRead };

// How parts of the stream are fed.
struct Feeding {
    std::stop_token stop{};
    bool saves = true;           // writes checkpoints on the way and when it is stopped
    bool shows_progress = false; // of documents that are read again
};

class StreamFeeder {
public:
    // The arguments must outlive this object.
    StreamFeeder(SessionContext& context, SessionFraming& framing, TurnJournal& journal, Checkpoints& checkpoints,
                 NoteTaking& notes, StoredReadingRate& rate)
        : context_(context), framing_(framing), journal_(journal), checkpoints_(checkpoints), notes_(notes),
          rate_(rate)
    {
    }

    // Reads the stored stream and restores the newest checkpoint (see Checkpoints::restore_newest). Throws Error
    // (Failed, PAL-DB-03) for a stream that is damaged.
    void restore();
    // Feeds what the stream has beyond the session's position. When it is stopped, saves and throws Interrupted.
    // Throws Error if the journal's turns cannot be stored.
    void catch_up(LastDocument last, const Feeding& feeding);
    uint64_t tokens_fed_again() const { return fed_again_; } // by catch_up, since the session was opened

    // Feeds `count` tokens of a document from token `first` on. Throws Interrupted as catch_up does.
    void feed_document(int64_t document, uint64_t first, uint64_t count, const Feeding& feeding,
                       ReadingMeter* progress);
    void feed(std::span<const engine::TokenId> ids, const Feeding& feeding);
    // Feeds tokens of a message. Returns false if it was stopped; context.position() then tells how far it came.
    bool feed_message(std::span<const engine::TokenId> ids, const std::stop_token& stop);
    // begin_question takes the ids of a question, and finish_question feeds those that are not fed yet. Returns
    // false if it was stopped; calling it again continues.
    void begin_question(std::vector<engine::TokenId> ids) { unread_ = std::move(ids); }
    bool finish_question(const std::stop_token& stop);

    // The usual way: the listener can stop it, and checkpoints are written.
    Feeding usual() const;
    [[noreturn]] void damaged_stream() const;

private:
    struct Progress {
        ReadingMeter* meter = nullptr;
        uint64_t total = 0; // tokens of the stream up to the document's end
    };
    void encode_passages(int64_t document, uint64_t end, bool all, const std::stop_token& stop);
    void feed_part(const StreamPart& part, uint64_t skip, const Feeding& feeding);
    void replay_message(int64_t id, uint64_t skip, const Feeding& feeding);
    bool try_feed(std::span<const engine::TokenId> ids, const std::stop_token& stop, const Progress& progress);
    [[noreturn]] void interrupt(const Feeding& feeding);
    void match_framing();

    SessionContext& context_;
    SessionFraming& framing_;
    TurnJournal& journal_;
    Checkpoints& checkpoints_;
    NoteTaking& notes_;
    StoredReadingRate& rate_;
    uint64_t fed_again_ = 0;
    std::vector<engine::TokenId> unread_; // of a question whose feeding was stopped
};

} // namespace palimpsest::storage
