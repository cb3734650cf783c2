// The pins of a stored session. They are set at a place of its stream, and are set there again when it is read
// again.
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

    // Pins what was set when no more of the stream was computed than is now.
    void apply(engine::Session& session) const;
    // The next position after this one where something was pinned; UINT64_MAX without one.
    uint64_t next(uint64_t position) const;

    const std::vector<Pin>& all() const { return pins_; } // by `first`, apart

    // All pins as they are to be; of wishes those that were not found, and what there is to say.
    struct Change {
        std::vector<Pin> pins;
        std::vector<std::string> missing, notes;
    };
    // Changes nothing. Throws Error: NotFound (PAL-PIN-03) if all must be there and one is not, Usage (PAL-PIN-01)
    // if they do not fit.
    Change look_for(const std::vector<std::string>& wishes, bool all_must_be_there,
                    const std::vector<StreamPart>& stream, const engine::Session& session) const;
    void store(const Change& change);                   // within a transaction of the caller's
    void take(Change change, engine::Session& session); // once that is on stable storage
    // What is free of the range is pinned too. Changes nothing; throws Error (Usage, PAL-PIN-01) if it does not
    // fit.
    Change with(const engine::TokenRange& range, const std::string& label, const engine::Session& session) const;
    // Changes nothing. When the stream is read again, it is as if the range had never been pinned.
    Change without(const engine::TokenRange& range) const;
    // All as they are for a session that went back to here and takes `taken_back` back: what was pinned later is
    // pinned now. Changes nothing stored.
    void go_back(uint64_t tokens, const engine::TokenRange& taken_back);
    void drop_after(uint64_t tokens); // of a stream that was cut; within a transaction

private:
    void push(PinSearch& search, const StreamPart& part) const;
    std::vector<Pin> with(const std::vector<FoundPin>& found, uint64_t since) const;

    Store& store_;
    int64_t session_;
    std::vector<Pin> pins_;
};

} // namespace palimpsest::storage
