// The journal: turns that are not stored yet, or not in their current version. A full disk does not stop an answer:
// the turns wait here until they can be stored.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "storage/session/session_context.h"

namespace palimpsest::storage {

// The stored answer that a new one replaces.
struct Replacement {
    int64_t answer = 0;
    uint64_t restored_at = 0;          // tokens of the checkpoint that the session went back to
    engine::SamplerOptions sampling{}; // for the new answer
};

struct Turn {
    Message question, reply;
    size_t part = 0;                          // index of the question in the stream; the reply follows it
    bool stored = false;                      // perhaps in an earlier version
    std::optional<Replacement> replacement{}; // set: the question is stored already, and only the reply is new
};

class TurnJournal {
public:
    explicit TurnJournal(SessionContext& context) : context_(context) {}

    // Appends the turn's two parts to the stream. References stay valid until the turn is stored and complete.
    Turn& begin(const std::string& message, std::vector<engine::TokenId> ids, std::vector<ReadAgain> read_again);
    // Begins another answer to the message in the stream's last part, and appends the answer's part.
    Turn& begin_replacement(const Message& question, const Replacement& replacement);
    void drop_unstored_replacements();

    // Stores the turns that wait. Returns false if space or another resource is missing (see failure()). After a
    // disk error (PAL-DISK-02), it does not try again.
    bool store();
    void require_stored(); // as store(), but throws failure()
    // Records that the checkpoint after the stored turns failed.
    void set_failure(const Error& error) { failure_ = error; }
    const std::optional<Error>& failure() const { return failure_; }

    size_t waiting() const { return turns_.size(); }
    // Returns the message of this part if it is not stored in its current version, otherwise null. Valid until the
    // next change.
    const Message* waiting_message(size_t part) const;
    // The sampling of an answer that replaces another one, if it is still in the journal.
    std::optional<engine::SamplerOptions> sampling_of_replacement(int64_t reply) const;

private:
    void put(Turn& turn, std::optional<int64_t> parent);
    void replace_answer(Turn& turn);

    SessionContext& context_;
    std::list<Turn> turns_;
    std::optional<Error> failure_;
};

} // namespace palimpsest::storage
