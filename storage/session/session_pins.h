// The pins of a stored session. Each knows how many tokens of the stream had been read when it was set, and is set
// there again when the stream is read again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/session/pinning.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

class SessionPins {
public:
    SessionPins(Store& store, int64_t session);

    // Sets the pins whose position the session has reached.
    void apply(engine::Session& session) const;
    // The next position after this one at which a pin is set; UINT64_MAX if there is none.
    uint64_t next(uint64_t position) const;

    const std::vector<Pin>& all() const { return pins_; } // ordered by `first`, disjoint

    // All pins after a change, labels that were not found or not to their end, and notes for the user.
    struct Change {
        std::vector<Pin> pins;
        std::vector<std::string> missing;
        std::vector<Text> notes;
    };
    // Computes the change without applying it. Token numbers are cut at the end of `stream`. Throws Error: NotFound
    // (PAL-PIN-03) if all must be there and a passage is not, Usage (PAL-PIN-02) likewise for token numbers behind
    // the end, (PAL-PIN-01) if the pins do not fit the budget.
    Change look_for(const std::vector<std::string>& requests, bool all_must_be_there,
                    const std::vector<StreamPart>& stream, const engine::Session& session) const;
    void store(const Change& change);                   // within the caller's transaction
    void take(Change change, engine::Session& session); // after store() is committed
    // Pins the parts of the range that are not pinned yet, up to the end of the stream of `tokens` tokens. Does not
    // apply the change; throws Error (Usage): PAL-PIN-01 if it does not fit, PAL-PIN-02 behind the end.
    Change with(const engine::TokenRange& range, const std::string& label, uint64_t tokens,
                const engine::Session& session) const;
    // Does not apply the change. A reread of the stream behaves as if the range had never been pinned.
    Change without(const engine::TokenRange& range) const;
    // For a session that went back to `tokens` tokens: pins set later count as set there, and the range
    // `taken_back` is unpinned. Changes nothing that is stored.
    void go_back(uint64_t tokens, const engine::TokenRange& taken_back);
    void drop_after(uint64_t tokens); // for a truncated stream; within the caller's transaction

private:
    void push(PinSearch& search, const StreamPart& part) const;
    std::vector<Pin> with(const std::vector<FoundPin>& found, uint64_t since) const;

    Store& store_;
    int64_t session_;
    std::vector<Pin> pins_;
};

} // namespace palimpsest::storage
