// The checkpoints of a stored session: when one is written, and which one a session goes on from.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/cache/eviction_events.h"
#include "storage/session/reading_rate.h"
#include "storage/session/session_context.h"
#include "storage/session/session_framing.h"
#include "storage/session/turn_journal.h"

namespace palimpsest::storage {

class Checkpoints {
public:
    // All of them must outlive this.
    Checkpoints(SessionContext& context, const SessionFraming& framing, TurnJournal& journal, ReadingRate& rate)
        : context_(context), framing_(framing), journal_(journal), rate_(rate)
    {
    }

    // Restores the newest intact checkpoint; an older one if the newest is damaged. False: there is none, and the
    // whole text must be read again. Throws Error (PAL-SNAP-02, 03) instead, unless options.reread, if there are
    // checkpoints and none can be used.
    bool restore_newest();
    // Restores the newest checkpoint of at most so many tokens, or a session that has read nothing. Stored data
    // does not change.
    void restore_before(uint64_t tokens);
    std::unique_ptr<engine::Session> fresh() const; // with the options it was begun with, nothing read

    // Writes are counted from here for the limit of save_if_due.
    void start_counting();
    // The session went back: its position may be lower than where counting started.
    void went_back() { counted_from_ = std::min(counted_from_, context_.position()); }

    // Does nothing with options.read_only. Throws Error if the turns that wait cannot be stored: a checkpoint of
    // text that is not stored could not be used.
    void save();
    // A full disk is reported to the listener instead: the text is stored without the checkpoint.
    void save_if_there_is_room();
    // At most one a minute (checkpoint_seconds), or four at ends of chapters. Within ten minutes of the last one,
    // only if all writes, this and the final checkpoint included, take at most 100 bytes per token read.
    void save_if_due(bool at_chapter);
    bool is_due_at_chapter() const;
    // One checkpoint of `changed`, with new settings, in place of all that were made under the old ones.
    void replace_all(engine::Session& changed, const std::string& settings);
    uint64_t remove_all(); // returns the bytes that frees

    // The sampling changed; the newest checkpoint still has the old one.
    void sampling_changed() { sampling_is_saved_ = false; }
    bool sampling_is_saved() const { return sampling_is_saved_; }

    void collect_evictions(); // starts the record of evictions of context.session since its last checkpoint
    void read_fade_record(const engine::EvictionSink& sink);

private:
    using Clock = std::chrono::steady_clock;
    engine::SessionState load(const SnapshotInfo& snapshot) const;
    uint64_t largest_payload(const engine::SessionState& state) const;
    uint64_t expected_bytes() const;
    [[noreturn]] void refuse_without_reading(const Error& first) const; // `first`: why no checkpoint can be used

    SessionContext& context_;
    const SessionFraming& framing_;
    TurnJournal& journal_;
    ReadingRate& rate_;
    std::vector<engine::EvictionEvent> faded_; // since the last checkpoint
    bool sampling_is_saved_ = true;
    Clock::time_point saved_at_ = context_.opened_at;
    uint64_t last_bytes_ = 0;     // written for the last checkpoint, to log and file
    uint64_t written_before_ = 0; // bytes, when counting started
    uint64_t counted_from_ = 0;   // tokens
};

} // namespace palimpsest::storage
