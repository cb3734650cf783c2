// Computes reading progress (share, speed, remaining time) and reports it to a listener.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "storage/session/listener.h"

namespace palimpsest::storage {

class ReadingMeter {
public:
    // `what` names the input; only its file name is reported. `total_bytes` is unknown for standard input. The
    // listener must outlive this object.
    ReadingMeter(Listener& listener, const std::string& what, std::optional<uint64_t> total_bytes = std::nullopt);
    ~ReadingMeter(); // reports reading_ended
    ReadingMeter(const ReadingMeter&) = delete;
    ReadingMeter& operator=(const ReadingMeter&) = delete;

    // The document begins at `begin` in the stream; this run starts at `from`. The share refers to the document,
    // the rate to this run. Both default to 0.
    void start_at(uint64_t begin, uint64_t from);
    void written(uint64_t bytes) { progress_.bytes_written = bytes; } // to the database so far

    // `tokens_total`: of the stream, up to the document's end. 0: unknown; the share is then computed from bytes.
    void update(const engine::Session& session, const engine::Telemetry& telemetry, uint64_t bytes_read,
                uint64_t tokens_total);

private:
    using Clock = std::chrono::steady_clock;
    void estimate();

    Listener& listener_;
    ReadingProgress progress_;
    uint64_t begin_ = 0, from_ = 0; // stream indices
    Clock::time_point start_ = Clock::now();
};

} // namespace palimpsest::storage
