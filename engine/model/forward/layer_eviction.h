// The eviction step, with which every layer ends its work on a chunk or a generated token, after attention.
#pragma once

#include <cstdint>
#include <span>

#include "engine/policy/eviction_plan.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

// A layer after its attention and before its eviction. The keys and values of the new tokens are in the staging
// buffer, or, in decode, in a free row of every list; no list contains the new tokens yet.
struct AttendedLayer {
    int32_t layer = 0;
    uint32_t first = 0;        // stream index of the first new token
    int32_t rows = 0;          // new tokens
    int32_t question_rows = 0; // rows after the new tokens, fed only for their attention; no list keeps them
    // The signals that the policy requested, of new tokens and question rows, in backend memory.
    kernels::SignalRequest signals{};
};

// Called by Transformer after attention. One implementation keeps the lists on the host, the other on the device
// (engine/session/host_eviction.h, device_eviction.h).
class LayerEviction {
public:
    virtual ~LayerEviction() = default;
    // Appends the new tokens to the lists of these layers, then evicts. `layers` is a single layer, or all layers
    // if their evictions depend on one another or their signals are downloaded together. `chunk`: the number of the
    // chunk in its super-chunk.
    virtual void evict(std::span<const AttendedLayer> layers, int32_t chunk, kernels::Phase phase) = 0;

    // Device-resident caches only: the eviction plan of every layer for the next generated token. Transformer
    // records the token's operations, queue() included, once and replays them. Empty: Transformer calls evict()
    // instead.
    virtual std::span<const EvictionPlan> plans() const { return {}; }
    // Queues the eviction of a layer after its attention. All pointers are backend memory; `signals`: the
    // layer's; `dropped` is [kv_heads, stride], and no list drops more than `stride` ranks.
    virtual void queue(int32_t /*layer*/, const kernels::SignalRequest& /*signals*/, const uint32_t* /*plan*/,
                       uint32_t* /*dropped*/, int64_t /*stride*/)
    {
    }
    // Called for every layer, in order, after the whole token was queued. `index`: the token's stream index;
    // `stride`: as in queue(), or 0 if the token drops nothing.
    virtual void queued(int32_t /*layer*/, uint32_t /*index*/, int64_t /*stride*/) {}
    // Passes the ranks that the last token dropped, [layers, kv_heads, stride].
    virtual void set_dropped_ranks(std::span<const uint32_t> /*dropped*/) {}
};

} // namespace palimpsest::engine
