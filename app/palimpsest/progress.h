// Progress of a reading or of other work: a redrawn line on a terminal, otherwise one line per 10 %, or JSON lines
// with --events.
#pragma once

#include <chrono>
#include <string>

#include "app/palimpsest/console.h"
#include "storage/session/listener.h"

namespace palimpsest::app {

class Progress {
public:
    enum class Style { Line, Plain, Events };
    // Returns Line only for a terminal that can redraw a line.
    static Style style_for(const Console& console, bool events);

    Progress(Console& console, Style style) : console_(console), style_(style) {}
    ~Progress(); // clears the line
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(const storage::ReadingProgress& progress);
    // Shows the progress of work other than reading, such as a rescue: every percentage once as an event.
    void update(const Text& work, int percent);

private:
    using Clock = std::chrono::steady_clock;
    void draw(const storage::ReadingProgress& progress);
    bool is_due(double share);
    void write(const std::string& line);

    Console& console_;
    Style style_;
    Clock::time_point drawn_{};
    int tenths_said_ = 0, percent_said_ = -1;
    bool line_open_ = false;
};

} // namespace palimpsest::app
