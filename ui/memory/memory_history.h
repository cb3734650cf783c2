// What a session's memory was, over the tokens read. Bounded; every sample is one that the engine reported.
#pragma once

#include "engine/session/telemetry.h"
#include "ui/base/chart.h"
#include "ui/base/thinned.h"

namespace palimpsest::ui {

class MemoryHistory {
public:
    explicit MemoryHistory(size_t capacity = 512) : samples_(capacity) {}

    void add(const engine::Telemetry& telemetry) { samples_.add(telemetry.tokens_seen, telemetry); }
    void clear() { samples_.clear(); }
    bool empty() const { return samples_.entries().empty(); }
    const std::vector<Thinned<engine::Telemetry>::Entry>& samples() const { return samples_.entries(); }

    // Whether cache and full cache differ so much that one of them could not be seen on a linear scale.
    bool wants_logarithm() const;
    std::vector<ChartLine> lines() const; // this session's cache, and a full one

private:
    Thinned<engine::Telemetry> samples_;
};

} // namespace palimpsest::ui
