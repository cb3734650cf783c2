#include "app/palimpsest/progress.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

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
        std::snprintf(text, sizeof text, "%lld:%02lld min", static_cast<long long>(s / 60), static_cast<long long>(s % 60));
    else
        std::snprintf(text, sizeof text, "%lld:%02lld h", static_cast<long long>(s / 3600),
                      static_cast<long long>(s / 60 % 60));
    return text;
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
    : console_(console), style_(style), what_(std::move(what)), total_bytes_(total_bytes)
{
}

Progress::~Progress()
{
    if (line_open_) console_.err << "\r\x1b[K" << std::flush;
}

void Progress::update(const engine::Telemetry& t, uint64_t bytes_done, uint64_t tokens_total)
{
    if (style_ == Style::Events) {
        event({{"event", "progress"},
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
    const double share = total_bytes_ && *total_bytes_ > 0
                             ? std::min(1.0, static_cast<double>(bytes_done) / static_cast<double>(*total_bytes_))
                             : 0.0;
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    draw(t, share, share > 0 ? elapsed * (1 - share) / share : -1);
}

void Progress::draw(const engine::Telemetry& t, double share, double seconds_left)
{
    const auto now = Clock::now();
    const int tenths = static_cast<int>(share * 10);
    if (style_ == Style::Silent) return;
    if (style_ == Style::Line && now - drawn_ < std::chrono::milliseconds(100)) return;
    if (style_ == Style::Plain && tenths <= tenths_said_) return;
    drawn_ = now;
    tenths_said_ = tenths;

    std::string line = "Reading " + visible(what_) + "  ";
    if (total_bytes_) line += std::to_string(static_cast<int>(share * 100)) + " % - ";
    line += format_count(t.tokens_seen) + " tokens - " + format_count(static_cast<uint64_t>(t.tokens_per_second)) + " tok/s";
    if (seconds_left >= 0) line += " - " + duration(seconds_left) + " left";
    line += " - cache " + format_bytes(t.cache_bytes) + ", full cache " + format_bytes(t.full_cache_bytes);
    if (style_ == Style::Line)
        console_.err << '\r' << line << "\x1b[K" << std::flush;
    else
        console_.err << line << '\n' << std::flush;
    line_open_ = style_ == Style::Line;
}

void Progress::event(const nlohmann::ordered_json& object)
{
    if (style_ != Style::Events) return;
    console_.err << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n' << std::flush;
}

} // namespace palimpsest::app
