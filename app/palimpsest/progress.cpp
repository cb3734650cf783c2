#include "app/palimpsest/progress.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/palimpsest/byte_quantity.h"
#include "app/palimpsest/output.h"

namespace palimpsest::app {
namespace {

std::string duration(double seconds)
{
    const auto s = static_cast<int64_t>(seconds + 0.5);
    char text[64];
    if (s < 60)
        std::snprintf(text, sizeof text, "%lld s", static_cast<long long>(s));
    else if (s < 3600)
        std::snprintf(text, sizeof text, "%lld:%02lld min", static_cast<long long>(s / 60),
                      static_cast<long long>(s % 60));
    else
        std::snprintf(text, sizeof text, "%lld:%02lld h", static_cast<long long>(s / 3600),
                      static_cast<long long>(s / 60 % 60));
    return text;
}

// A line that wraps could not be redrawn.
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

Progress::Progress(Console& console, Style style, std::string what, std::optional<uint64_t> total_bytes)
    : console_(console), style_(style), what_(std::filesystem::path(what).filename().string()),
      total_bytes_(total_bytes)
{
}

Progress::~Progress()
{
    if (line_open_) console_.err << "\r\x1b[K" << std::flush;
}

void Progress::update(const engine::Telemetry& t, uint64_t bytes_done, uint64_t tokens_total)
{
    if (style_ == Style::Events) {
        write_event(console_.err, {{"event", "progress"},
                                   {"tokens_seen", t.tokens_seen},
                                   {"tokens_total", tokens_total},
                                   {"bytes_read", bytes_done},
                                   {"bytes_total", total_bytes_.value_or(0)},
                                   {"tokens_per_second", t.tokens_per_second},
                                   {"cache_bytes", t.cache_bytes},
                                   {"full_cache_bytes", t.full_cache_bytes},
                                   {"slots_used", t.slots_used},
                                   {"slots_capacity", t.slots_capacity},
                                   {"evicted", t.evicted},
                                   {"bytes_written", 0}});
        return;
    }
    std::optional<double> share;
    if (tokens_total > 0)
        share = static_cast<double>(t.tokens_seen) / static_cast<double>(tokens_total);
    else if (total_bytes_ && *total_bytes_ > 0)
        share = static_cast<double>(bytes_done) / static_cast<double>(*total_bytes_);
    if (share) share = std::min(1.0, *share);
    draw(t, share);
}

void Progress::draw(const engine::Telemetry& t, std::optional<double> share)
{
    const auto now = Clock::now();
    const int tenths = static_cast<int>(share.value_or(0) * 10);
    if (style_ == Style::Silent) return;
    if (style_ == Style::Line && now - drawn_ < std::chrono::milliseconds(100)) return;
    if (style_ == Style::Plain && tenths <= tenths_said_) return;
    drawn_ = now;
    tenths_said_ = tenths;

    const double elapsed = std::max(1e-9, std::chrono::duration<double>(now - start_).count());
    std::string line = "Reading " + visible(what_) + "  ";
    if (share) line += std::to_string(static_cast<int>(*share * 100)) + " % - ";
    line += format_count(t.tokens_seen) + " tokens - " +
            format_count(static_cast<uint64_t>(static_cast<double>(t.tokens_seen) / elapsed)) + " tok/s";
    if (share && *share > 0) line += " - " + duration(elapsed * (1 - *share) / *share) + " left";
    line += " - cache " + format_bytes(t.cache_bytes) + ", full cache " + format_bytes(t.full_cache_bytes);
    if (style_ == Style::Line)
        console_.err << '\r' << line.substr(0, terminal_columns() - 1) << "\x1b[K" << std::flush;
    else
        console_.err << line << '\n' << std::flush;
    line_open_ = style_ == Style::Line;
}

} // namespace palimpsest::app
