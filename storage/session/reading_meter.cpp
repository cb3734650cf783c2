#include "storage/session/reading_meter.h"

#include <algorithm>
#include <filesystem>

namespace palimpsest::storage {

ReadingMeter::ReadingMeter(Listener& listener, const std::string& what, std::optional<uint64_t> total_bytes)
    : listener_(listener)
{
    progress_.what = std::filesystem::path(what).filename().string();
    progress_.bytes_total = total_bytes;
}

ReadingMeter::~ReadingMeter()
{
    listener_.reading_ended();
}

void ReadingMeter::start_at(uint64_t begin, uint64_t from)
{
    begin_ = begin;
    from_ = from;
    start_ = Clock::now();
}

void ReadingMeter::update(const engine::Session& session, const engine::Telemetry& telemetry, uint64_t bytes_read,
                          uint64_t tokens_total)
{
    progress_.telemetry = telemetry;
    progress_.bytes_read = bytes_read;
    progress_.tokens_total = tokens_total;
    estimate();
    const auto told_at = Clock::now();
    listener_.progress(progress_, session);
    start_ += Clock::now() - told_at; // the listener may answer a question: that is no reading
}

void ReadingMeter::estimate()
{
    ReadingProgress& p = progress_;
    const uint64_t seen = p.telemetry.tokens_seen;
    const double elapsed = std::max(1e-9, std::chrono::duration<double>(Clock::now() - start_).count());
    const auto number = [](uint64_t from, uint64_t to) { return to > from ? static_cast<double>(to - from) : 0.0; };
    const double now = number(from_, seen);
    p.share = p.seconds_left = std::nullopt;
    p.tokens_per_second = now / elapsed;
    if (p.tokens_total > begin_) {
        p.share = std::min(1.0, number(begin_, seen) / number(begin_, p.tokens_total));
        if (now > 0) p.seconds_left = number(seen, p.tokens_total) * elapsed / now;
    } else if (p.bytes_total && *p.bytes_total > 0) {
        p.share = std::min(1.0, static_cast<double>(p.bytes_read) / static_cast<double>(*p.bytes_total));
        if (*p.share > 0) p.seconds_left = elapsed * (1 - *p.share) / *p.share;
    }
}

} // namespace palimpsest::storage
