// The pins of a stored session. They are set at a place of its stream, and are set there again when it is read
// again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/palimpsest/pinning.h"
#include "app/palimpsest/store.h"

namespace palimpsest::app {

class SessionPins {
public:
    SessionPins(Store& store, int64_t session);

    // Pins what was set when no more of the stream was computed than is now.
    void apply(engine::Session& session) const;
    // The next position after this one where something was pinned; UINT64_MAX without one.
    uint64_t next(uint64_t position) const;

    // All pins with those that wishes find in a stream, and what there is to say.
    struct Addition {
        std::vector<storage::Pin> pins;
        std::vector<std::string> missing, notes; // wishes that were not found
    };
    // Changes nothing. Throws Error: NotFound (PAL-PIN-03) if all must be there and one is not, Usage (PAL-PIN-01)
    // if they do not fit.
    Addition look_for(const std::vector<std::string>& wishes, bool all_must_be_there,
                      const std::vector<storage::StreamPart>& stream, const engine::Session& session) const;
    void store(const Addition& addition);                   // within a transaction of the caller's
    void take(Addition addition, engine::Session& session); // once that is on stable storage
    void drop_after(uint64_t tokens);                       // of a stream that was cut; within a transaction

private:
    void push(PinSearch& search, const storage::StreamPart& part) const;
    std::vector<storage::Pin> with(const std::vector<FoundPin>& found, uint64_t since) const;

    Store& store_;
    int64_t session_;
    std::vector<storage::Pin> pins_;
};

} // namespace palimpsest::app
