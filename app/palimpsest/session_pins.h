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

    // Looks for the wishes in a stream. What is found is pinned and stored, what is not is returned, or refused
    // (Error NotFound, PAL-PIN-03) if it must be there. Throws Error (Usage, PAL-PIN-01) if it does not fit. What
    // throws changes nothing.
    std::vector<std::string> add(const std::vector<std::string>& wishes, bool all_must_be_there,
                                 const std::vector<storage::StreamPart>& stream, engine::Session& session);
    void drop_after(uint64_t tokens); // of a stream that was cut; within a transaction

    std::vector<std::string> notes; // what there is to say about the last add

private:
    void push(PinSearch& search, const storage::StreamPart& part) const;
    std::vector<storage::Pin> with(const std::vector<FoundPin>& found, uint64_t since) const;

    Store& store_;
    int64_t session_;
    std::vector<storage::Pin> pins_;
};

} // namespace palimpsest::app
