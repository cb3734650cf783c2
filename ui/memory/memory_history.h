// History of a session's cache size over the tokens read, bounded in length. Samples come from the engine's
// telemetry. Those from before the first frame are computed: the session's cache has been allocated once, in its
// present size, and a full cache grows with the tokens.
#pragma once

#include <functional>

#include "engine/session/telemetry.h"
#include "ui/base/chart.h"
#include "ui/base/thinned.h"

namespace palimpsest::ui {

// Returns the bytes that a full cache takes for `tokens` tokens.
using FullCache = std::function<uint64_t(uint64_t tokens)>;

class MemoryHistory {
public:
    struct Sample {
        uint64_t cache_bytes = 0, full_cache_bytes = 0;
    };

    explicit MemoryHistory(size_t capacity = 512) : samples_(capacity) {}

    void add(const engine::Telemetry& now)
    {
        samples_.add(now.tokens_seen, {now.cache_bytes, now.full_cache_bytes});
    }
    // Adds computed samples for the tokens before `now`. REQUIRES: empty().
    void add_past(const engine::Telemetry& now, const FullCache& full_cache);
    void clear() { samples_.clear(); }
    bool empty() const { return samples_.entries().empty(); }
    const std::vector<DownsampledSeries<Sample>::Entry>& samples() const { return samples_.entries(); }

    // Whether the cache and the full cache differ so much that a linear scale would flatten one of them.
    bool wants_logarithm() const;
    std::vector<ChartLine> lines() const; // this session's cache, then a full cache

private:
    DownsampledSeries<Sample> samples_;
};

} // namespace palimpsest::ui
