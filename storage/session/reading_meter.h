// How far a reading is: share, speed and the time that is left, told to a listener until the reading ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "storage/session/listener.h"

namespace palimpsest::storage {

class ReadingMeter {
public:
    // `what` names the input, its file name is told; `total_bytes` is unknown for standard input. The listener must
    // outlive this.
    ReadingMeter(Listener& listener, const std::string& what, std::optional<uint64_t> total_bytes = std::nullopt);
    ~ReadingMeter(); // the reading has ended
    ReadingMeter(const ReadingMeter&) = delete;
    ReadingMeter& operator=(const ReadingMeter&) = delete;

    // The document's tokens begin at `begin` in the stream and are read from `from` on: the share is that of the
    // document, the rate that of this run. Both are 0 otherwise.
    void start_at(uint64_t begin, uint64_t from);
    void written(uint64_t bytes) { progress_.bytes_written = bytes; } // to the database so far

    // `tokens_total`: of the stream up to the document's end. 0: unknown, the share then comes from bytes.
    void update(const engine::Session& session, const engine::Telemetry& telemetry, uint64_t bytes_read,
                uint64_t tokens_total);

private:
    using Clock = std::chrono::steady_clock;
    void estimate();

    Listener& listener_;
    ReadingProgress progress_;
    uint64_t begin_ = 0, from_ = 0; // in the stream
    Clock::time_point start_ = Clock::now();
};

} // namespace palimpsest::storage
