// The journal of turns: what was said and answered, and is not stored yet, or not as it is now. A full disk stops
// no answer: the turns wait here until they can be stored.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "storage/session/session_context.h"

namespace palimpsest::storage {

// The stored answer that another one takes the place of.
struct Replacement {
    int64_t answer = 0;
    uint64_t restored_at = 0;          // tokens of the checkpoint that the session went back to
    engine::SamplerOptions sampling{}; // of the new answer
};

struct Turn {
    Message question, reply;
    size_t part = 0;                          // the question's, in the stream; the reply's follows
    bool stored = false;                      // an earlier version of it is
    std::optional<Replacement> replacement{}; // the question is stored already
};

class TurnJournal {
public:
    explicit TurnJournal(SessionContext& context) : context_(context) {}

    // Appends the turn's two parts to the stream. References stay valid until the turn is stored and complete.
    Turn& begin(const std::string& message, std::vector<engine::TokenId> ids);
    // Begins another answer to the message in the stream's last part, and appends the answer's part.
    Turn& begin_replacement(const Message& question, const Replacement& replacement);
    void drop_unstored_replacements();

    // Stores the turns that wait. False: that failed for want of space or another resource (see failure()). After a
    // write error of the disk (PAL-DISK-02) it is not tried again.
    bool store();
    void require_stored(); // as store(), but throws failure()
    // The turns are stored, but the checkpoint behind them failed.
    void set_failure(const Error& error) { failure_ = error; }
    const std::optional<Error>& failure() const { return failure_; }

    size_t waiting() const { return turns_.size(); }
    // The message of this part, as it is and is not stored yet; nullptr where it is stored. Until the next change.
    const Message* waiting_message(size_t part) const;
    // The sampling of an answer that takes another one's place, if it is still in the journal.
    std::optional<engine::SamplerOptions> sampling_of_replacement(int64_t reply) const;

private:
    void put(Turn& turn, std::optional<int64_t> parent);
    void replace_answer(Turn& turn);

    SessionContext& context_;
    std::list<Turn> turns_;
    std::optional<Error> failure_;
};

} // namespace palimpsest::storage
