// Figures that a session reports about itself, as plain values.
#pragma once

#include <cstdint>

namespace palimpsest::engine {

struct Telemetry {
    uint64_t tokens_seen = 0;
    double tokens_per_second = 0;  // over the last call of feed or generate
    uint64_t cache_bytes = 0;      // as allocated: pool, staging, page tables, order lists, statistics
    uint64_t scratch_bytes = 0;    // as allocated: activations and the backend's working memory
    uint64_t full_cache_bytes = 0; // a cache without eviction for tokens_seen tokens
    int64_t slots_used = 0;
    int64_t slots_capacity = 0;
    uint64_t evicted = 0; // slots freed so far, over all layers and heads
};

} // namespace palimpsest::engine
