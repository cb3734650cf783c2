// The eviction step of layers, which ends their part of a chunk or of a generated token, after their attention.
#pragma once

#include <cstdint>
#include <span>

#include "engine/policy/eviction_plan.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

// A layer whose attention to a chunk or a generated token was computed. Its rows are in the staging buffer, or, in
// decode, in a free row of every list; no list holds them as tokens yet.
struct AttendedLayer {
    int32_t layer = 0;
    uint32_t first = 0;        // stream index of the first new token
    int32_t rows = 0;          // new tokens
    int32_t question_rows = 0; // rows behind them, fed only for their attention; no list keeps them
    // The signals that the policy requested, of new tokens and question rows, in backend memory.
    kernels::SignalRequest signals{};
};

// Called by Transformer after attention. One implementation keeps the lists on the host, the other on the device
// (engine/session/host_eviction.h, device_eviction.h).
class LayerEviction {
public:
    virtual ~LayerEviction() = default;
    // Appends the new tokens to the lists of these layers and evicts: one layer, or all of them where their
    // evictions depend on one another or their signals are downloaded together. `chunk`: its number in the
    // super-chunk.
    virtual void evict(std::span<const AttendedLayer> layers, int32_t chunk, kernels::Phase phase) = 0;

    // Device-resident caches only: the eviction plans of a generated token, per layer, made before anything is
    // queued; its operations are then recorded once and replayed. Empty: the token goes through evict.
    virtual std::span<const EvictionPlan> plans() const { return {}; }
    // Queues the operations that follow a layer's attention. All pointers are backend memory; `dropped` is
    // [kv_heads, stride], and no list drops more than `stride` ranks.
    virtual void queue(int32_t /*layer*/, const kernels::SignalRequest& /*seen*/, const uint32_t* /*plan*/,
                       uint32_t* /*dropped*/, int64_t /*stride*/)
    {
    }
    // Called after the token was queued, in layer order; `index` is its stream index.
    virtual void queued(int32_t /*layer*/, uint32_t /*index*/, int64_t /*stride*/) {}
    // The ranks that the last token dropped, [layers, kv_heads, stride].
    virtual void set_dropped_ranks(std::span<const uint32_t> /*dropped*/) {}
};

} // namespace palimpsest::engine
