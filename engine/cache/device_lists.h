// The lists of a device-resident cache (kernels/eviction.h): the backend holds their statistics and evicts, and the
// host learns later which tokens were evicted (EvictionLog).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/eviction_log.h"
#include "engine/cache/kv_cache.h"
#include "engine/cache/sent_plans.h"
#include "engine/cache/token_lists.h"

namespace palimpsest::engine {

class DeviceLists final : public TokenLists {
public:
    // REQUIRES: shape.resident, and no moments. backend must outlive this; throws Error (Resources).
    DeviceLists(const CacheShape& shape, kernels::Backend& backend);
    DeviceLists clone() const; // nothing is pinned in the copy. REQUIRES: synced

    TokenList tokens(int32_t layer, int32_t head) const override;
    // Like tokens(), plus the rows appended since the last eviction.
    TokenList appended_tokens(int32_t layer, int32_t head) const;
    void write(int32_t layer, int32_t head, const TokenList& tokens) override;
    void pin(const Pins& tokens, const std::vector<bool>& holding) override;
    void sync() override;
    void sync_earlier() override;
    void switch_log() override;
    bool is_syncing() const override { return log_.is_syncing(); }
    // sync() calls the sink for every step it applies, in order.
    void set_sync_sink(SyncSink sink) { sync_sink_ = std::move(sink); }
    size_t allocated_bytes() const override;

    // Appends the tokens of a chunk to every list of the layer; the backend reads the new lengths from the eviction
    // plan.
    void append(int32_t layer, uint32_t first, int32_t rows);
    // Sets `sizes` to the lengths of the layer's lists, [kv_heads], appended rows included.
    void lengths(int32_t layer, const KvCache& cache, std::vector<uint32_t>& sizes) const;
    // Appends to the backend's pinned ranks those of the `rows` new tokens from stream index `first` on that are
    // pinned. The new tokens come behind all others in the layer's lists.
    void pin_new(int32_t layer, uint32_t first, int32_t rows, const KvCache& cache);
    std::span<const uint32_t> pinned_tokens(int32_t layer) const; // [kv_heads] number of pinned tokens, or empty

    // One eviction step of a layer: send() uploads the plan, accumulate() adds the signals of the appended tokens
    // unless `seen` has no rows, and evict() evicts as planned. `step` is passed on as SyncedStep::step.
    void send(const EvictionPlan& plan);
    void accumulate(int32_t layer, int32_t question_rows, const kernels::SignalRequest& seen);
    void evict(int32_t layer, kernels::Phase phase, uint64_t step, const EvictionPlan& plan,
               const kernels::SelectionRule& rule, KvCache& cache);
    // Logs a generated token's evictions, which LayerEviction::queue has queued; `stride`: the stride of the
    // dropped ranks, [kv_heads, stride].
    void log_token(int32_t layer, uint64_t step, const EvictionPlan& plan, int64_t stride, KvCache& cache);
    // Throws Error (Internal) unless there are exactly as many ranks as are awaited.
    void set_dropped_ranks(std::span<const uint32_t> dropped);
    // Arguments with the device addresses that eviction and accumulation need.
    kernels::EvictArgs eviction(int32_t layer, kernels::Phase phase, KvCache& cache) const;
    kernels::AccumulateArgs accumulation(int32_t layer, int32_t rows, int32_t question_rows,
                                         const kernels::SignalRequest& seen) const;

private:
    kernels::ListStatistics statistics(int32_t layer) const; // its `sum` is null without statistics
    void read_statistics(int32_t layer, int32_t head, size_t tokens, TokenList& list) const;
    void write_statistics(int32_t layer, int32_t head, const TokenList& list);
    bool holds_pins(int32_t layer) const { return pins_.stride > 0 && pins_.holding[static_cast<size_t>(layer)]; }
    kernels::PinnedRanks pinned(int32_t layer) const; // its `ranks` is null if this layer has no pins
    // Pins `count` more ranks of each list of the layer, head h's from first[h] on. REQUIRES: they are newer than
    // all pinned ones.
    void pin_more(int32_t layer, std::span<const int32_t> first, uint32_t count);
    void count_kept(const EvictionPlan& plan); // fills counts_ with the lengths after the plan

    struct PinnedLists {
        Pins tokens{};
        kernels::Buffer ranks{};           // u32 [layers, kv_heads, stride]
        kernels::Buffer held{};            // u32 [layers, kv_heads] pinned ranks of each list
        std::vector<uint32_t> held_here{}; // host copy of held
        std::vector<bool> holding{};       // [layers] whether pinned tokens are protected in the layer
        size_t stride = 0; // row length of `ranks`: the number of pinned tokens, because one list may hold them all
    };

    kernels::Backend* backend_;
    int64_t longest_;             // most tokens of a list, chunk and question rows included
    kernels::Buffer sum_, count_; // f64 [layers, kv_heads, longest]
    kernels::Buffer kept_;        // u32 [kv_heads, longest], valid for one step
    EvictionLog log_;
    SentPlans plans_;
    const uint32_t* plan_ = nullptr; // device address of the last plan sent
    PinnedLists pins_;
    SyncSink sync_sink_;
    uint32_t chunk_first_ = 0;      // stream index of the newest chunk's first token
    std::vector<int32_t> appended_; // [layers] rows appended since the last eviction step
    std::vector<int32_t> counts_;   // [kv_heads], scratch
};

} // namespace palimpsest::engine
