// What whoever opened a session hears while it is worked on: notes, how far a reading is, a device that failed; and
// how it asks for a stop. All of it is called on the thread that computes.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/session/session.h"

namespace palimpsest::storage {

struct ReadingProgress {
    std::string what; // is read
    engine::Telemetry telemetry;
    std::optional<double> share, seconds_left; // of what is read
    double tokens_per_second = 0;              // since this reading began
    uint64_t tokens_total = 0;                 // of the stream up to the document's end; 0: unknown
    uint64_t bytes_read = 0;                   // of a file that is read as it is encoded
    std::optional<uint64_t> bytes_total;       // of it, where that is known
    uint64_t bytes_written = 0;                // to the database since it was opened
};

class Listener {
public:
    virtual ~Listener() = default;
    // A sentence that is worth a line to the user; it may hold a document's own text.
    virtual void note(const std::string& /*sentence*/) {}
    // After every super-chunk of a reading. The session may be looked at, not changed.
    virtual void progress(const ReadingProgress& /*progress*/, const engine::Session& /*session*/) {}
    // A message is about to be fed: the session's state may be taken.
    virtual void turn_begins(engine::Session& /*session*/) {}
    virtual void reading_ended() {} // to its end or not; nothing of its progress follows
    // The state at this length of the stream is on stable storage.
    virtual void saved(uint64_t /*tokens_seen*/, uint64_t /*bytes_written*/) {}
    virtual void device_lost(const std::string& /*device*/) {} // all goes on on the CPU
    virtual std::stop_token stop() const { return {}; }
};

// Thrown when a stop was requested; `message` says what is safe and how to go on.
struct Interrupted {
    std::string message;
};

} // namespace palimpsest::storage
