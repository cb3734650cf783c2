// Callbacks for the owner of a session: notes, reading progress, device failure, and stop requests. All are called
// on the thread that computes.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/session/session.h"
#include "kernels/base/text.h"
#include "storage/interrupted.h"

namespace palimpsest::storage {

struct ReadingProgress {
    std::string what; // name of the input
    engine::Telemetry telemetry;
    std::optional<double> share, seconds_left; // of this input
    double tokens_per_second = 0;              // since reading started
    uint64_t tokens_total = 0;                 // of the stream, up to the document's end; 0: unknown
    uint64_t bytes_read = 0;                   // of a file that is encoded while it is read
    std::optional<uint64_t> bytes_total;       // of that file, if known
    uint64_t bytes_written = 0;                // to the database since it was opened
};

struct Note;
struct Rereading;
struct Store;

class Listener {
public:
    virtual ~Listener() = default;
    // A sentence to show the user; may contain text of a document.
    virtual void note(const Text& /*sentence*/) {}
    // Called after every super-chunk. The session may be read but not changed.
    virtual void progress(const ReadingProgress& /*progress*/, const engine::Session& /*session*/) {}
    // Called before a message is fed: the session state may be captured.
    virtual void message_starts(engine::Session& /*session*/) {}
    // Called before a message is fed, if passages were found for it.
    virtual void found(const Rereading& /*passages*/, Store& /*store*/) {}
    // A note was written and stored.
    virtual void noted(const Note& /*note*/, Store& /*store*/) {}
    virtual void reading_ended() {} // reading completed or stopped; no more progress calls for it
    // The checkpoint with this many stream tokens is on stable storage.
    virtual void saved(uint64_t /*tokens_seen*/, uint64_t /*bytes_written*/) {}
    virtual void device_lost(const std::string& /*device*/) {} // computation continues on the CPU
    virtual std::stop_token stop() const { return {}; }
};

} // namespace palimpsest::storage
