#include "ui/memory/memory_history.h"

#include <QCoreApplication>

namespace palimpsest::ui {
namespace {

constexpr double most_times_linear = 20;
constexpr uint64_t past_samples = 64;

struct MemoryText {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::MemoryHistory)
};

} // namespace

void MemoryHistory::add_past(const engine::Telemetry& now, const FullCache& full_cache)
{
    for (uint64_t i = 0; i < past_samples; ++i) {
        const uint64_t tokens = now.tokens_seen * i / past_samples;
        samples_.add(tokens, {now.cache_bytes, full_cache(tokens)});
    }
}

bool MemoryHistory::wants_logarithm() const
{
    if (empty()) return false;
    const Sample& now = samples().back().sample;
    const auto cache = static_cast<double>(now.cache_bytes), full = static_cast<double>(now.full_cache_bytes);
    return cache > 0 && full > 0 && (full > most_times_linear * cache || cache > most_times_linear * full);
}

std::vector<ChartLine> MemoryHistory::lines() const
{
    ChartLine cache{MemoryText::tr("This session"), {}, 0};
    ChartLine full{MemoryText::tr("A full cache"), {}, 1};
    for (const auto& [tokens, t] : samples()) {
        cache.points.emplace_back(static_cast<double>(tokens), static_cast<double>(t.cache_bytes));
        full.points.emplace_back(static_cast<double>(tokens), static_cast<double>(t.full_cache_bytes));
    }
    return {std::move(cache), std::move(full)};
}

} // namespace palimpsest::ui
