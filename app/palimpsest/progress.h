// How far a reading is: a redrawn line on a terminal, a plain line per 10 % elsewhere, or JSON lines with --events.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "app/palimpsest/console.h"
#include "engine/session/telemetry.h"

namespace palimpsest::app {

class Progress {
public:
    enum class Style { Silent, Line, Plain, Events };
    // Bars appear only on a terminal that can redraw a line.
    static Style style_for(const Console& console, bool events);

    // `what` names the input; `total_bytes` is unknown for standard input.
    Progress(Console& console, Style style, std::string what, std::optional<uint64_t> total_bytes);
    ~Progress(); // clears the line

    // The document's tokens begin at `begin` in the stream and are read from `from` on: the share is that of the
    // document, the rate that of this run. Both are 0 otherwise.
    void start_at(uint64_t begin, uint64_t from);
    void written(uint64_t bytes) { bytes_written_ = bytes; } // to the database so far

    // `tokens_total`: of the stream up to the document's end. 0: unknown, the share then comes from bytes.
    void update(const engine::Telemetry& telemetry, uint64_t bytes_done, uint64_t tokens_total);

private:
    using Clock = std::chrono::steady_clock;
    struct Estimate {
        std::optional<double> share, seconds_left;
        double tokens_per_second = 0;
    };
    Estimate estimate(const engine::Telemetry& telemetry, uint64_t bytes_done, uint64_t tokens_total) const;
    void draw(const engine::Telemetry& telemetry, const Estimate& estimate);

    Console& console_;
    Style style_;
    std::string what_;
    std::optional<uint64_t> total_bytes_;
    uint64_t begin_ = 0, from_ = 0; // in the stream
    uint64_t bytes_written_ = 0;
    Clock::time_point start_ = Clock::now();
    Clock::time_point drawn_{};
    int tenths_said_ = 0;
    bool line_open_ = false;
};

} // namespace palimpsest::app
