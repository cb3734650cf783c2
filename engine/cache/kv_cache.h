// Keys and values of one stream, allocated once: one list per layer and KV head, in pages of 64 rows from one pool,
// and a staging buffer for the chunk.
//
// A row is a physical place. A token has a stream index, which never changes, and a rank in its list. The rank is
// the token's position in contiguous mode and decreases when older tokens are evicted. After a prefill chunk row =
// rank. Decode moves no rows: an order list maps each rank to its row.
//
// Lists may be ragged. If their limits add up to the total, every list holds the pages of its limit from the start.
// Otherwise lists take pages from the pool and return them. With a row for the next token, they need the sum of
// ceil((n + 1) / 64) over the lists, which is at most total / 64 + lists; the pool has that many pages.
//
// In a device-resident cache the backend itself evicts. The host knows the length of every list at once, but learns
// which tokens a list holds only when sync() downloads the eviction log.
//
// Not thread-safe: one owner feeds and evicts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/cache/device_lists.h"
#include "engine/cache/page_tables.h"
#include "engine/cache/token_list.h"
#include "engine/policy/pins.h"
#include "kernels/kv_page.h"

namespace palimpsest::engine {

struct CacheShape {
    int32_t layers = 0;
    kernels::HeadShape heads;
    kernels::DType type = kernels::DType::F16;
    kernels::DType wide = kernels::DType::F16; // staging type of a quantised cache: F16 or BF16
    int32_t staged_rows = 1;                   // rows the staging buffer holds
    bool stage_every_layer = false;            // for policies that evict after all layers
    bool with_signals = false;                 // keep sums and counts
    int32_t moments_each = 0;                  // numbers of TokenList::moments per token
    std::vector<int32_t> list_budget;          // [layers, kv_heads] limit: most tokens in a list after eviction
    int64_t total_slots = 0;                   // most tokens in all lists together after eviction
    bool resident = false;                     // REQUIRES: a backend that selects, limits that add up to the total
    int32_t rows_at_once = 1;                  // rows of a super-chunk; a device-resident cache syncs once for all
};

// Signals of one list, in host memory. Spans that the policy did not request are empty.
struct ListSignals {
    std::span<const float> columns{};                   // [n] column sums or low counts
    int32_t divisor = 1;                                // columns are divided by it
    std::span<const float> head_sums{}, head_squares{}; // [group, n]
};

int64_t slots_of_limits(const CacheShape& shape); // the sum of list_budget

class KvCache {
public:
    KvCache(CacheShape shape, kernels::Backend& backend); // backend must outlive this; throws Error (Resources)

    const CacheShape& shape() const { return shape_; }
    // Device-resident caches: returns the list as of the last sync, without statistics.
    const TokenList& list(int32_t layer, int32_t head) const { return lists_[index(layer, head)]; }
    // Copies the list with its accumulated statistics. REQUIRES: synced.
    TokenList tokens(int32_t layer, int32_t head) const;
    // Like tokens(), plus the rows appended to a device-resident cache since the last eviction.
    TokenList appended_tokens(int32_t layer, int32_t head) const;
    int32_t used(int32_t layer, int32_t head) const { return used_[index(layer, head)]; }
    std::span<const int32_t> used() const { return used_; } // [layers, kv_heads]
    // The most rows this list may hold between chunks.
    int32_t capacity(int32_t layer, int32_t head) const { return shape_.list_budget[index(layer, head)]; }

    kernels::KvPool pool() const;
    kernels::KvLists lists(int32_t layer);
    kernels::Staging staging(int32_t layer) const;

    // Appends a chunk's tokens to every list of the layer, as ranks only: their keys and values are still in the
    // staging buffer or, in decode, in a free row.
    void append(int32_t layer, uint32_t first, int32_t rows);
    // Undoes append of the newest tokens, before anything was evicted.
    void undo_append(int32_t layer, int32_t rows);
    // Adds the signals of a chunk of `rows` tokens to a list's statistics, for an observation window of `window`
    // queries.
    void accumulate(int32_t layer, int32_t head, int32_t window, int32_t rows, const ListSignals& seen);
    // Ends a prefill chunk: drops `dropped` ranks of each head and compacts the kept rows. If lists do not share
    // slots, this also moves the chunk's kept tokens in from the staging buffer. Otherwise it only frees pages, and
    // take_in() moves them in once all layers that share have been compacted.
    void evict_chunk(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped);
    void take_in(int32_t layer);
    // Reserves a row for one more token in every list. Call it before a decode step.
    void reserve_token();
    // Ends a decode step: drops ranks and moves no rows.
    void evict_token(int32_t layer, const std::vector<std::vector<uint32_t>>& dropped);
    // The counterparts for a device-resident cache, whose backend evicts: send() uploads the plan,
    // accumulate_on_device() adds the signals of the appended tokens unless `seen` has no rows, and
    // evict_on_device() evicts as planned. `step` is passed on as SyncedStep::step.
    bool resident() const { return resident_.has_value(); }
    void lengths(int32_t layer, std::vector<uint32_t>& sizes) const; // [kv_heads] appended rows included
    // Replaces the pinned tokens, which the backend must not evict from the layers where `holding` is true.
    // REQUIRES: synced. Throws Error (Resources), and then nothing has changed.
    void pin(const Pins& pins, std::vector<bool> holding);
    // Pins the pinned ones among the `rows` tokens from stream index `first` on, which follow the tokens of the
    // layer's lists.
    void pin_new(int32_t layer, uint32_t first, int32_t rows);
    void pin_appended(int32_t layer) { pin_new(layer, chunk_first_, appended_[static_cast<size_t>(layer)]); }
    std::span<const uint32_t> pinned_tokens(int32_t layer) const { return resident_->pinned_tokens(layer); }
    void send(const EvictionPlan& plan);
    void accumulate_on_device(int32_t layer, int32_t question_rows, const kernels::SignalRequest& seen);
    void evict_on_device(int32_t layer, kernels::Phase phase, uint64_t step, const EvictionPlan& plan,
                         const kernels::SelectionRule& rule);
    // Logs a generated token's evictions, which LayerEviction::queue has queued; `stride` is that of its dropped
    // ranks.
    void log_token(int32_t layer, uint64_t step, const EvictionPlan& plan, int64_t stride);
    void set_dropped_ranks(std::span<const uint32_t> dropped) { resident_->set_dropped_ranks(dropped); }
    // Arguments with the device addresses that eviction and accumulation need.
    kernels::EvictArgs eviction(int32_t layer, kernels::Phase phase) const;
    kernels::AccumulateArgs accumulation(int32_t layer, int32_t rows, int32_t question_rows,
                                         const kernels::SignalRequest& seen) const;
    // sync() downloads the eviction log and applies it to the host's lists, calling the sink for every step in
    // order. It does nothing for a cache that is not device-resident.
    void set_sync_sink(SyncSink sink) { sync_sink_ = std::move(sink); }
    void sync();
    // Applies only the steps logged before the second-latest switch_log(), so it need not wait for newer ones.
    void sync_earlier();
    void switch_log();
    bool is_syncing() const { return resident_ && resident_->is_syncing(); }

    // Defragments: moves rows so that row = rank in every list. Prefill requires it, and it makes decode faster.
    void defragment();
    // Decode evictions since the last defragmentation, maximum over layers.
    int32_t displaced() const { return *std::max_element(displaced_.begin(), displaced_.end()); }

    // Reads or writes one entry as f32, [head_dim] each, between append and eviction; keys as stored, rotated or
    // not. In a quantised cache, storing quantises an entry of the list again; an entry of the chunk is quantised
    // when it moves from the staging buffer into the pool.
    void load_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase, std::span<float> key,
                    std::span<float> value) const;
    void store_entry(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase, std::span<const float> key,
                     std::span<const float> value);
    TokenList& statistics(int32_t layer, int32_t head) { return lists_[index(layer, head)]; } // for merging

    KvCache clone() const;
    // Copies the tokens into a cache of another shape. REQUIRES: they fit, and only limits and staged rows differ.
    KvCache reshaped(CacheShape shape);

    // Reads keys and values of one list in rank order, [used, head_dim] each in shape().type (GatherArgs).
    void read(int32_t layer, int32_t head, std::vector<std::byte>& keys, std::vector<std::byte>& values);
    // Reads all lists, [layers, kv_heads], without a host wait for each.
    struct Entries {
        std::vector<std::byte>*keys = nullptr, *values = nullptr;
    };
    void read_all(std::span<const Entries> to);
    // Fills an empty list. REQUIRES: sizes agree with tokens and shape, tokens <= capacity, and with all lists
    // filled so far <= total_slots.
    void write(int32_t layer, int32_t head, const TokenList& tokens, std::span<const std::byte> keys,
               std::span<const std::byte> values);

    int64_t slots_used() const;
    int64_t slots_capacity() const;
    size_t allocated_bytes() const; // host and backend memory, as allocated
    // True if every page is either free or held by one list, and every list holds the pages of its rows; for tests.
    bool consistent() const;

private:
    size_t index(int32_t layer, int32_t head) const
    {
        return static_cast<size_t>(layer) * static_cast<size_t>(shape_.heads.kv_heads) + static_cast<size_t>(head);
    }
    int64_t row_bytes() const { return kernels::row_bytes(shape_.type, shape_.heads.head_dim); }
    kernels::KvPage page() const { return kernels::kv_page(shape_.type, shape_.heads.head_dim); }
    kernels::DType staged_type() const { return kernels::staging_type(shape_.type, shape_.wide); }
    int64_t staged_row_bytes() const { return kernels::row_bytes(staged_type(), shape_.heads.head_dim); }
    int64_t order_stride() const { return page_stride_ * kernels::page_rows; }
    bool shares() const { return shares_; }

    bool grow(size_t list, int64_t rows); // false: too few free pages
    void grow_within_bound(size_t list, int64_t rows);
    void free_unused_pages(); // frees pages beyond the used rows. REQUIRES: row = rank
    bool reserve_rows();
    void compact(int32_t layer); // keeps the first counts_ ranks of kept_ in each list
    void compact_on_device(int32_t layer, const EvictionPlan& plan);
    void account(int32_t layer, kernels::Phase phase, const EvictionPlan& plan);
    kernels::GatherArgs gathering(int32_t layer, int32_t head, const Entries& to); // resizes `to`
    struct Place;
    Place place_in_pool(size_t list, int64_t row) const;
    Place place_of(int32_t layer, int32_t head, uint32_t rank, kernels::Phase phase) const;

    CacheShape shape_;
    kernels::Backend* backend_;
    bool shares_ = false;
    int64_t page_stride_ = 0; // pages of the longest list
    int64_t page_count_ = 0;
    kernels::Buffer keys_;             // [pages] of 64 rows (kv_page.h)
    kernels::Buffer values_;           // [pages]
    kernels::Buffer staging_;          // [staged layers][keys, values][kv_heads, staged rows, head_dim]
    kernels::Buffer pages_;            // u32 [layers, kv_heads, page_stride]
    kernels::Buffer order_;            // u32 [layers, kv_heads, page_stride * 64], valid for held pages
    PageTables tables_;                // host copy of pages_
    std::vector<int32_t> used_;        // [layers, kv_heads]
    std::vector<int32_t> touched_;     // [layers, kv_heads] rows from here on were never used since row = rank
    std::vector<TokenList> lists_;     // [layers, kv_heads]
    uint32_t chunk_first_ = 0;         // stream index of the newest chunk's first token
    std::unique_ptr<uint32_t[]> kept_; // [kv_heads, longest list + staged rows], scratch of evict_chunk
    int64_t kept_stride_ = 0;
    std::vector<uint32_t> flat_;     // [kv_heads, most dropped], scratch of evict_token
    std::vector<int32_t> counts_;    // [kv_heads], scratch of evictions
    std::vector<int32_t> displaced_; // [layers]
    bool scattered_ = false;         // some order list may differ from the identity
    std::optional<DeviceLists> resident_;
    Pins pins_; // device-resident caches only
    SyncSink sync_sink_;
    std::vector<int32_t> appended_;  // [layers] rows appended since the last eviction step; device-resident caches
    const uint32_t* plan_ = nullptr; // device address of the last plan sent
};

} // namespace palimpsest::engine
