#include "app/palimpsest/progress.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "app/palimpsest/output.h"
#include "app/palimpsest/wording.h"
#include "engine/text/unicode/display_width.h"
#include "kernels/base/byte_quantity.h"

namespace palimpsest::app {
namespace {

// Limit of a progress line: a wrapped line could not be redrawn.
size_t terminal_columns()
{
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace

Progress::Style Progress::style_for(const Console& console, bool events)
{
    if (events) return Style::Events;
    const char* term = std::getenv("TERM");
    const bool dumb = term && std::string_view(term) == "dumb";
    return console.err_is_terminal && !dumb ? Style::Line : Style::Plain;
}

Progress::~Progress()
{
    if (line_open_) console_.err << "\r\x1b[K" << std::flush;
}

void Progress::update(const storage::ReadingProgress& progress)
{
    if (style_ != Style::Events) return draw(progress);
    const engine::Telemetry& t = progress.telemetry;
    nlohmann::ordered_json event{{"event", "progress"},
                                 {"tokens_seen", t.tokens_seen},
                                 {"tokens_total", progress.tokens_total},
                                 {"bytes_read", progress.bytes_read},
                                 {"bytes_total", progress.bytes_total.value_or(0)},
                                 {"tokens_per_second", t.tokens_per_second},
                                 {"seconds_left", nullptr},
                                 {"cache_bytes", t.cache_bytes},
                                 {"full_cache_bytes", t.full_cache_bytes},
                                 {"slots_used", t.slots_used},
                                 {"slots_capacity", t.slots_capacity},
                                 {"evicted", t.evicted},
                                 {"bytes_written", progress.bytes_written}};
    if (progress.seconds_left) event["seconds_left"] = *progress.seconds_left;
    write_event(console_.err, event);
}

void Progress::update(const Text& work, int percent)
{
    if (style_ == Style::Events) {
        if (std::exchange(percent_said_, percent) != percent)
            write_event(console_.err, {{"event", "work"}, {"text", for_scripts(work)}, {"percent", percent}});
        return;
    }
    if (is_due(percent / 100.0)) write(console_.wording.of(Text("{0}  {1} %", work, percent)));
}

bool Progress::is_due(double share)
{
    const auto now = Clock::now();
    const int tenths = static_cast<int>(share * 10);
    if (style_ == Style::Line && now - drawn_ < std::chrono::milliseconds(100)) return false;
    if (style_ == Style::Plain && tenths <= tenths_said_) return false;
    drawn_ = now;
    tenths_said_ = tenths;
    return true;
}

void Progress::write(const std::string& line)
{
    if (style_ == Style::Line)
        console_.err << '\r' << engine::within_width(line, terminal_columns() - 1) << "\x1b[K" << std::flush;
    else
        console_.err << line << '\n' << std::flush;
    line_open_ = style_ == Style::Line;
}

void Progress::draw(const storage::ReadingProgress& p)
{
    if (!is_due(p.share.value_or(0))) return;
    const engine::Telemetry& t = p.telemetry;
    const CommandWording& wording = console_.wording;
    std::string line = wording.of(Text("Reading {0}  ", row_text(p.what)));
    if (p.share) line += std::to_string(static_cast<int>(*p.share * 100)) + " % - ";
    line += wording.of(Text("{0} tokens - {1} tok/s", format_count(t.tokens_seen),
                            format_count(static_cast<uint64_t>(p.tokens_per_second))));
    if (p.seconds_left) line += " - " + wording.of(Text("{0} left", format_duration(*p.seconds_left)));
    line += " - " + wording.of(Text("cache {0}, full cache {1}", format_bytes(t.cache_bytes),
                                    format_bytes(t.full_cache_bytes)));
    write(line);
}

} // namespace palimpsest::app
