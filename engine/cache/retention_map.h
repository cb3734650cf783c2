// Which tokens each layer and KV head holds at one moment, as printed by `inspect` and drawn by the window.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cache/token_lists.h"

namespace palimpsest::engine {

struct RetentionMap {
    int32_t layers = 0;
    int32_t kv_heads = 0;
    uint64_t tokens_seen = 0;
    std::vector<std::vector<uint32_t>> tokens; // [layers * kv_heads] stream indices, ascending

    const std::vector<uint32_t>& of(int32_t layer, int32_t head) const
    {
        return tokens[static_cast<size_t>(layer * kv_heads + head)];
    }
    static RetentionMap of(const TokenLists& lists, uint64_t tokens_seen);
};

// Jaccard index of the kept (layer, head, token) triples: |A and B| / |A or B|; 1 for two empty maps.
// REQUIRES: equal layers and heads.
double overlap(const RetentionMap& a, const RetentionMap& b);

// The kept share of the (layer, head, token) triples in `range`, counting only tokens that were read; 0 if none
// was.
double held(const RetentionMap& map, const TokenRange& range);
double held(const TokenLists& lists, uint64_t tokens_seen, const TokenRange& range); // REQUIRES: synced

// How far back the kept tokens reach: the share of slots that hold tokens of each tenth of the stream, and the
// median age of the kept tokens.
struct Reach {
    std::vector<double> by_tenth; // [10] shares of all used slots; sums to 1
    uint64_t median_age = 0;      // in tokens
};
Reach reach(const RetentionMap& map);

} // namespace palimpsest::engine
