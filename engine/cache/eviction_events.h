// The events of the fade record: for each layer and token, in which chunk the last head dropped it. Nothing is
// stored here: each event goes to a sink as it happens, so that a stream of any length costs no memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/cache/token_list.h"

namespace palimpsest::engine {

struct EvictionEvent {
    int32_t layer = 0;
    uint32_t token = 0; // stream index
    uint32_t chunk = 0; // number of the chunk in the whole stream, decode steps included
};
using EvictionSink = std::function<void(std::span<const EvictionEvent>)>;

// Returns the tokens that some head of `lists` is about to drop and no head will hold afterwards, ascending.
// `dropped`: ranks per head, not yet removed. O(dropped * heads * log list).
std::vector<uint32_t> no_longer_retained(std::span<const TokenList* const> lists,
                                         const std::vector<std::vector<uint32_t>>& dropped);
// Passes the eviction events of a step to `sink`, if there is one and at least one event.
void report_evictions(int32_t layer, uint64_t chunk, std::span<const TokenList* const> lists,
                      const std::vector<std::vector<uint32_t>>& dropped, const EvictionSink& sink);

} // namespace palimpsest::engine
