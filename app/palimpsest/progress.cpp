#include "app/palimpsest/progress.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/palimpsest/byte_quantity.h"
#include "app/palimpsest/output.h"

namespace palimpsest::app {
namespace {

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

void Progress::start_at(uint64_t begin, uint64_t from)
{
    begin_ = begin;
    from_ = from;
    start_ = Clock::now();
}

Progress::Estimate Progress::estimate(const engine::Telemetry& t, uint64_t bytes_done, uint64_t tokens_total) const
{
    const double elapsed = std::max(1e-9, std::chrono::duration<double>(Clock::now() - start_).count());
    const auto number = [](uint64_t from, uint64_t to) { return to > from ? static_cast<double>(to - from) : 0.0; };
    const double now = number(from_, t.tokens_seen);
    Estimate e{.share = {}, .seconds_left = {}, .tokens_per_second = now / elapsed};
    if (tokens_total > begin_) {
        e.share = std::min(1.0, number(begin_, t.tokens_seen) / number(begin_, tokens_total));
        if (now > 0) e.seconds_left = number(t.tokens_seen, tokens_total) * elapsed / now;
    } else if (total_bytes_ && *total_bytes_ > 0) {
        e.share = std::min(1.0, static_cast<double>(bytes_done) / static_cast<double>(*total_bytes_));
        if (*e.share > 0) e.seconds_left = elapsed * (1 - *e.share) / *e.share;
    }
    return e;
}

void Progress::update(const engine::Telemetry& t, uint64_t bytes_done, uint64_t tokens_total)
{
    const Estimate e = estimate(t, bytes_done, tokens_total);
    if (style_ != Style::Events) return draw(t, e);
    nlohmann::ordered_json event{{"event", "progress"},
                                 {"tokens_seen", t.tokens_seen},
                                 {"tokens_total", tokens_total},
                                 {"bytes_read", bytes_done},
                                 {"bytes_total", total_bytes_.value_or(0)},
                                 {"tokens_per_second", t.tokens_per_second},
                                 {"seconds_left", nullptr},
                                 {"cache_bytes", t.cache_bytes},
                                 {"full_cache_bytes", t.full_cache_bytes},
                                 {"slots_used", t.slots_used},
                                 {"slots_capacity", t.slots_capacity},
                                 {"evicted", t.evicted},
                                 {"bytes_written", bytes_written_}};
    if (e.seconds_left) event["seconds_left"] = *e.seconds_left;
    write_event(console_.err, event);
}

void Progress::draw(const engine::Telemetry& t, const Estimate& e)
{
    const auto now = Clock::now();
    const int tenths = static_cast<int>(e.share.value_or(0) * 10);
    if (style_ == Style::Silent) return;
    if (style_ == Style::Line && now - drawn_ < std::chrono::milliseconds(100)) return;
    if (style_ == Style::Plain && tenths <= tenths_said_) return;
    drawn_ = now;
    tenths_said_ = tenths;

    std::string line = "Reading " + visible(what_) + "  ";
    if (e.share) line += std::to_string(static_cast<int>(*e.share * 100)) + " % - ";
    line += format_count(t.tokens_seen) + " tokens - " + format_count(static_cast<uint64_t>(e.tokens_per_second)) +
            " tok/s";
    if (e.seconds_left) line += " - " + format_duration(*e.seconds_left) + " left";
    line += " - cache " + format_bytes(t.cache_bytes) + ", full cache " + format_bytes(t.full_cache_bytes);
    if (style_ == Style::Line)
        console_.err << '\r' << line.substr(0, terminal_columns() - 1) << "\x1b[K" << std::flush;
    else
        console_.err << line << '\n' << std::flush;
    line_open_ = style_ == Style::Line;
}

} // namespace palimpsest::app
