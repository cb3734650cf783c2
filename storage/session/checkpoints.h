// The checkpoints of a stored session: when one is written, and which one a session goes on from.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/cache/eviction_events.h"
#include "storage/session/session_context.h"
#include "storage/session/session_framing.h"
#include "storage/session/stored_reading_rate.h"
#include "storage/session/turn_journal.h"

namespace palimpsest::storage {

class Checkpoints {
public:
    // The arguments must outlive this object.
    Checkpoints(SessionContext& context, const SessionFraming& framing, TurnJournal& journal,
                StoredReadingRate& rate)
        : context_(context), framing_(framing), journal_(journal), rate_(rate)
    {
    }

    // Restores the newest intact checkpoint. Returns false if there is none: the whole text must then be read
    // again. If there are checkpoints but none can be used, throws Error (PAL-SNAP-02, 03) unless
    // options.recompute.
    bool restore_newest();
    // Restores the newest checkpoint that has at most `tokens` tokens of the stream or, if there is none, a session
    // that has read nothing. Changes nothing that is stored.
    void restore_before(uint64_t tokens);
    // Returns a session that has read nothing, with the stored session's options.
    std::unique_ptr<engine::Session> fresh() const;

    // Tells the listener if checkpoints are to be rounded and cannot be.
    void tell_if_exact() const;
    // From here on, bytes written and tokens read count for the limit of save_if_due.
    void start_counting();
    // To be called when the session went back, perhaps to before the position at which counting started.
    void went_back() { counted_from_ = std::min(counted_from_, context_.position()); }

    // Writes a checkpoint, unless options say that none is written. Throws Error if the journal's turns cannot be
    // stored: a checkpoint that contains them could then not be used.
    void save();
    // Like save, but reports a full disk to the listener: the text is then stored without the checkpoint.
    void save_if_there_is_room();
    // Saves if the last checkpoint is a minute old (checkpoint_seconds), or a quarter of that at the end of a
    // chapter. Until it is ten minutes old, saves only if everything written so far, this checkpoint and a final
    // one take at most 100 bytes per token read.
    void save_if_due(bool at_chapter);
    bool is_due_at_chapter() const;
    // Replaces all checkpoints, which were made under the old settings, by one of `changed`, and stores the new
    // settings.
    void replace_all(engine::Session& changed, const std::string& settings);
    uint64_t remove_all(); // returns the number of bytes freed

    // To be called when the sampling changes: the newest checkpoint still contains the old one.
    void sampling_changed() { sampling_is_saved_ = false; }
    bool sampling_is_saved() const { return sampling_is_saved_; }

    void collect_evictions(); // starts to record the evictions of context.session for its next checkpoint
    void read_fade_record(const engine::EvictionSink& sink);

private:
    using Clock = std::chrono::steady_clock;
    engine::SessionState load(const SnapshotInfo& snapshot) const;
    engine::SessionState state_of(engine::Session& session) const; // to be stored, in the form that was chosen
    uint64_t largest_payload(const engine::SessionState& state) const;
    uint64_t expected_bytes() const;
    [[noreturn]] void refuse_without_reading(const Error& first) const; // `first`: why no checkpoint can be used

    SessionContext& context_;
    const SessionFraming& framing_;
    TurnJournal& journal_;
    StoredReadingRate& rate_;
    std::vector<engine::EvictionEvent> faded_; // since the last checkpoint
    bool sampling_is_saved_ = true;
    Clock::time_point saved_at_ = context_.opened_at;
    uint64_t last_bytes_ = 0;     // written for the last checkpoint, to log and file
    uint64_t written_before_ = 0; // bytes, when counting started
    uint64_t counted_from_ = 0;   // position at which counting started, in tokens
};

} // namespace palimpsest::storage
