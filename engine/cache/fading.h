// The fading record: in which chunk the last head of a layer let go of a token. Nothing is kept here; events go to
// their owner as they happen, so that a stream of any length costs no memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/cache/token_list.h"

namespace palimpsest::engine {

struct FadeEvent {
    int32_t layer = 0;
    uint32_t token = 0; // stream index
    uint32_t chunk = 0; // chunks seen before it, counted over the whole stream, decode steps included
};
using FadeSink = std::function<void(std::span<const FadeEvent>)>;

// The tokens that some head of `lists` is about to drop and no head will hold afterwards, ascending.
// `dropped` are ranks per head, before they are removed. O(dropped * heads * log list).
std::vector<uint32_t> faded(std::span<const TokenList* const> lists,
                            const std::vector<std::vector<uint32_t>>& dropped);
// Tells `sink`, if there is one and something faded; `chunk` and `layer` as in the events.
void report_faded(int32_t layer, uint64_t chunk, std::span<const TokenList* const> lists,
                  const std::vector<std::vector<uint32_t>>& dropped, const FadeSink& sink);

} // namespace palimpsest::engine
